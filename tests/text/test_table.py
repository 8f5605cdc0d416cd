"""Tables of text: each column begins at one place, and the last has what is left of a line."""

from __future__ import annotations

from steno.text.safe import columns
from steno.text.table import GAP, aligned


def test_each_column_begins_at_one_place_also_where_letters_are_wide() -> None:
    lines = [GAP.join(line) for line in aligned([("A", "B"), ("日本", "x"), ("abc", "y")])]
    assert {columns(line) for line in lines} == {7}


def test_the_last_column_has_what_is_left_and_is_never_padded() -> None:
    assert list(aligned([("a", "bb", "long words"), ("aaa", "b", "c")], width=12)) == [
        ["a  ", "bb", "lo…"],
        ["aaa", "b ", "c"],
    ]


def test_no_rows_are_no_lines() -> None:
    assert list(aligned([], width=10)) == []
