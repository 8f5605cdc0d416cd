"""Lines for narrow terminals: nothing is lost, nothing is wider, colours do not run on."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from steno.text.style import Paint, columns_shown, folded


def fold(line: str, width: int | None, indent: int = 4) -> list[str]:
    return list(folded([line], width=width, indent=indent))


def test_without_a_terminal_a_line_is_as_it_is() -> None:
    assert fold("a " * 100, None) == ["a " * 100]


def test_it_is_folded_at_words_and_indented() -> None:
    assert fold("Git   one two three four", 14) == ["Git   one two", "    three four"]


def test_a_word_that_is_too_long_is_cut_and_kept() -> None:
    lines = fold("Bundle /" + "x" * 40, 12)
    assert "".join(line.strip() for line in lines) == "Bundle/" + "x" * 40


def test_a_colour_ends_with_each_line_and_begins_again() -> None:
    first, second = fold(Paint(colour=True)("bad", "aaaa bbbb"), 6, 2)
    assert (first, second) == ("\x1b[31;1maaaa\x1b[0m", "  \x1b[31;1mbbbb\x1b[0m")


def test_a_wide_letter_counts_for_two() -> None:
    assert all(columns_shown(line) <= 7 for line in fold("漢字" * 20, 7))


@given(st.text("ab 漢", max_size=60), st.integers(4, 40), st.integers(0, 20))
def test_no_line_is_wider_and_no_letter_is_lost(text: str, width: int, indent: int) -> None:
    lines = fold(text, width, indent)
    assert all(columns_shown(line) <= width for line in lines)
    assert re.sub(" ", "", "".join(lines)) == text.replace(" ", "")
