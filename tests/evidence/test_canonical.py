"""Canonical JSON: one way to write a fact, and only that way is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import canonical
from steno.evidence.canonical import MAX_DEPTH, SAFE_INTEGER, NotCanonicalError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-SAFE_INTEGER, SAFE_INTEGER)
    | st.floats(-1e15, 1e15, allow_nan=False)
    | TEXT
)
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(DATA)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert canonical.decode(canonical.encode(value)) == value
    assert canonical.decode_line(canonical.encode_line(value)) == value


@given(DATA)
def test_the_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert canonical.encode(value) == rfc8785.dumps(value)


@given(DATA)
def test_json_written_in_another_way_is_refused(value: Any) -> None:
    for other in (
        json.dumps(value, indent=1).encode() + b" ",
        json.dumps(value, ensure_ascii=True).encode() + b"\n",
        b" " + canonical.encode(value),
    ):
        with pytest.raises(NotCanonicalError):
            canonical.decode(other)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = canonical.decode(data)
    except NotCanonicalError:
        return
    assert canonical.encode(value) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nul",
        b"NaN",
        b"1.0",
        b"-0",
        b"1e3",
        b"01",
        b"1e400",
        b'"\\u0041"',
        b'"\\ud800"',
        b'"\xed\xa0\x80"',
        b'"\xff"',
        b"\xef\xbb\xbf1",
        b'{"b":1,"a":1}',
        b'{"a":1,"a":1}',
        b"[1, 2]",
        b"[1]\n",
        b"9007199254740992",
        b"1" * 5000,
    ],
)
def test_each_of_these_is_refused(data: bytes) -> None:
    with pytest.raises(NotCanonicalError):
        canonical.decode(data)


def test_keys_are_sorted_by_utf_16_units() -> None:
    # U+1F600 begins with the unit D83D, which sorts before FB01 though its code point is larger.
    assert canonical.encode({"\ufb01": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb01":1}'.encode()


@given(st.integers(min_value=SAFE_INTEGER + 1) | st.integers(max_value=-SAFE_INTEGER - 1))
def test_an_integer_beyond_2_to_the_53_travels_as_a_string_and_comes_back(number: int) -> None:
    assert canonical.decode(canonical.encode([number])) == [str(number)]
    assert canonical.integer(str(number)) == number


def test_the_largest_safe_integers_stay_numbers() -> None:
    assert (
        canonical.encode([SAFE_INTEGER, -SAFE_INTEGER, True]) == b"[9007199254740991,-9007199254740991,true]"
    )


@pytest.mark.parametrize("text", ["", "5", "x", "+9007199254740992", "9_007_199_254_740_992", "1" * 5000])
def test_a_string_is_an_integer_only_as_encode_writes_it(text: str) -> None:
    with pytest.raises(NotCanonicalError):
        canonical.integer(text)


def test_a_tuple_is_written_as_a_list() -> None:
    assert canonical.encode((1, (2,))) == b"[1,[2]]"


def test_nesting_has_the_same_limit_for_writing_and_reading() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH):
        deep = [deep]
    data = canonical.encode(deep)
    assert canonical.decode(data) == deep
    with pytest.raises(NotCanonicalError, match="nested deeper"):
        canonical.encode([deep])
    with pytest.raises(NotCanonicalError, match="nested deeper"):
        canonical.decode(b"[" + data + b"]")


@pytest.mark.parametrize("depth", [500, 990, 2000, 100_000])
def test_nesting_beyond_the_stack_is_refused_and_not_a_crash(depth: int) -> None:
    with pytest.raises(NotCanonicalError):
        canonical.decode(b"[" * depth + b"]" * depth)


def test_a_line_without_its_newline_is_torn() -> None:
    with pytest.raises(NotCanonicalError, match="newline"):
        canonical.decode_line(b"{}")
    with pytest.raises(NotCanonicalError):
        canonical.decode_line(b"{}\n\n")
