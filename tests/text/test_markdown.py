"""Comments: never longer than they may be, closed where they are cut, and what strangers wrote is code."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from steno.text.markdown import MAX_CHARACTERS, Line, Section, code, fitted, folded, folded_code


def ending(left_out: int) -> str:
    return f"{left_out} are missing"


def entries(count: int, text: str = "- x") -> list[Line]:
    return [Line(text, is_entry=True)] * count


def test_what_fits_is_whole_and_says_nothing_of_missing_lines() -> None:
    said = fitted("# Head", [folded("Some", entries(3))], ending)
    assert said == "# Head\n<details><summary>Some</summary>\n\n- x\n- x\n- x\n\n</details>\n"


def test_what_does_not_fit_is_counted_over_all_sections() -> None:
    said = fitted("# Head", [folded("A", entries(30_000)), folded("B", entries(30_000))], ending)
    assert len(said) <= MAX_CHARACTERS
    missing = int(re.findall(r"^(\d+) are missing$", said, re.MULTILINE)[0])
    assert said.count("- x") + missing == 60_000


@given(st.lists(st.integers(0, 400), min_size=1, max_size=8))
def test_whatever_is_cut_is_closed(lengths: list[int]) -> None:
    sections = [folded_code("Code", "diff", ["+" + "y" * 300] * length) for length in lengths]
    said = fitted("# Head", [*sections, folded("Last", entries(10))], ending)
    assert len(said) <= MAX_CHARACTERS
    assert said.count("<details>") == said.count("</details>")
    assert len(re.findall("^```", said, re.MULTILINE)) % 2 == 0


def test_a_section_of_which_nothing_fits_is_left_out_with_its_closing() -> None:
    said = fitted("# Head", [Section(entries(30_000)), folded_code("Late", "", ["x"])], ending)
    assert "Late" not in said
    assert "</details>" not in said


@given(st.lists(st.text(alphabet="`~ax\n", max_size=20).map(lambda text: text.replace("\n", "")), max_size=8))
def test_no_line_ends_the_block_of_code_that_it_stands_in(lines: list[str]) -> None:
    said = fitted("", [folded_code("Code", "", lines)], ending)
    blocks = [token for token in MarkdownIt().parse(said) if token.type == "fence"]
    assert [block.content for block in blocks] == ["".join(f"{line}\n" for line in lines)]


def test_tabs_of_a_block_stay_and_what_a_terminal_would_act_on_does_not() -> None:
    (opening, line), closing, _ = folded_code("Code", "diff", ["+\ta\x1b[31m"])
    assert opening.text.endswith("\n\n```diff")
    assert line.text == "+\ta\\x1b[31m"
    assert closing.startswith("\n```\n")


def test_long_entries_and_long_lines_are_cut() -> None:
    assert len(code("x" * 10_000)) < 500
    assert len(folded_code("Code", "", ["x" * 10_000]).lines[1].text) < 500
