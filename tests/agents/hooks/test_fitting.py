"""What is left of a value that is too large to be told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.hooks.payload import MAX_DEPTH, encoded, shrink, shrink_text

MOST = 1000


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return value


def test_what_fits_stays_as_it_is() -> None:
    value = {"a": [1, "two", None], "b": {"c": 1.5}}
    assert shrink(dict(value), MOST) == (value, False)


def test_the_longest_text_goes_first_and_only_as_many_as_need_to() -> None:
    value = {"long": "x" * 2000, "short": "y" * 500}
    assert shrink(value, MOST) == ({"long": {"steno_cut": 2000}, "short": "y" * 500}, True)


def test_what_rules_read_goes_last() -> None:
    value = {"command": "c" * 600, "file_path": "p" * 300, "content": "x" * 500, "exit_code": 3}
    kept = shrink(value, MOST).value
    assert kept == {**value, "content": {"steno_cut": 500}}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Exit code 3\n" + "x" * 2000, {"first": "Exit code 3"}),
        ("Exit code: 0\n" + "x" * 2000, {"first": "Exit code: 0"}),
        (
            "x" * 2000 + "\nExit Code: 3\nProcess Group PGID: 31156\n</untrusted_context>",
            {"last": "Exit Code: 3"},
        ),
        ("x" * 2000 + "\nExit Code: 3" + "\n." * 9, {}),
        ("Exit code 3 of everything\n" + "x" * 2000, {}),
    ],
)
def test_a_text_that_is_cut_keeps_the_line_that_says_how_a_command_ended(
    text: str, kept: dict[str, str]
) -> None:
    assert shrink(text, MOST) == ({"steno_cut": len(text), **kept}, True)


def test_numbers_without_end_are_cut_by_parts_and_then_whole() -> None:
    assert shrink({"path": "/a", "rows": list(range(1000))}, MOST) == (
        {"path": "/a", "rows": {"steno_cut": 3891}},
        True,
    )
    assert shrink(list(range(5000)), MOST) == ({"steno_cut": 23891}, True)


def test_what_is_nested_too_deep_is_cut_there() -> None:
    assert shrink(nested(MAX_DEPTH), MOST) == (nested(MAX_DEPTH), False)
    kept, cut = shrink(nested(MAX_DEPTH + 5), MOST)
    assert cut
    assert encoded(kept).count(b"[") == MAX_DEPTH


def test_half_a_surrogate_pair_is_written_as_a_question_mark() -> None:
    assert encoded({"a": "\ud800"}) == b'{"a":"?"}'


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.text(min_size=90, max_size=2000),
        lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(), inner, max_size=40),
        max_leaves=30,
    )
)
def test_anything_fits(value: Any) -> None:
    before = encoded(value)
    kept, cut = shrink(value, MOST)
    assert len(encoded(kept)) <= MOST
    assert cut == (encoded(kept) != before)


@given(st.text(max_size=3000))
def test_a_text_keeps_its_beginning(text: str) -> None:
    kept, cut = shrink_text(text, MOST)
    assert text.startswith(kept)
    assert len(encoded(kept)) <= MOST
    assert cut == (kept != text)
