"""Lines of foreign bytes: places that are true, objects that are found, and bounds that hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents import json_lines as module
from steno.agents.json_lines import MAX_DEPTH, MAX_RAW, TERMINAL, at, lines, record, text_at, text_of_parts


@given(st.binary(max_size=200))
def test_the_place_of_a_line_is_where_its_bytes_are(data: bytes) -> None:
    found = list(lines(data, "stdout"))
    assert [line.content for line in found] == [line for line in data.split(b"\n") if line.strip()]
    assert all(data[line.span.byte_from : line.span.byte_to] == line.content for line in found)


def test_a_part_of_a_stream_has_the_places_of_the_whole() -> None:
    (line,) = lines(b"one\ntwo\nthree\n", "stderr", 4, 7)
    assert (line.content, line.span.byte_from, line.span.byte_to) == (b"two", 4, 7)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_nothing(data: bytes) -> None:
    assert isinstance(record(data), dict | None)


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_an_object_is_found_as_it_was_written(written: dict[str, int | str]) -> None:
    assert record(json.dumps(written).encode()) == written


@pytest.mark.parametrize(
    "around",
    [
        (b"", b"\r"),
        (b"\x1b[?25h", b""),
        (b"\x1b]0;a title\x07", b"\x1b[0m"),
        (b"\x1b]0;a title\x1b\\ ", b"\x1b(B\x0f\x1b7"),
    ],
)
def test_escapes_of_a_terminal_around_an_object_do_not_hide_it(around: tuple[bytes, bytes]) -> None:
    assert record(around[0] + b'{"type":"a"}' + around[1]) == {"type": "a"}


@pytest.mark.parametrize(
    "line",
    [
        b"[1]",
        b'"text"',
        b'{"a":1} and more',
        b'{"a":',
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"a":-Infinity}',
        b'{"a":' + b"9" * 10_000 + b"}",
        b"{" * 100_000,
        b'{"a":' + b"[" * 100_000,
        b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
    ],
    ids=lambda line: line[:20].decode(),
)
def test_what_is_no_plain_object_is_not_taken_for_one(line: bytes) -> None:
    assert record(line) is None


def test_nesting_up_to_the_bound_is_read() -> None:
    deep = MAX_DEPTH - 1
    assert record(b'{"a":' + b"[" * deep + b"]" * deep + b"}") is not None


def test_a_line_that_is_too_long_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECORD", 20)
    assert record(b'{"a":"123456789012"}') is not None
    assert record(b'{"a":"1234567890123"}') is None


def test_a_long_line_is_quoted_in_part_and_says_so() -> None:
    (line,) = lines(b"x" * (MAX_RAW + 1), "stdout")
    assert (len(line.other().raw), line.other().cut) == (MAX_RAW, True)
    (line,) = lines(b"x" * MAX_RAW, "stdout")
    assert not line.other().cut


def test_bytes_that_are_no_text_are_quoted_visibly() -> None:
    (line,) = lines(b"a\xffb\r", "stdout")
    assert line.other().raw == "a\\xffb"


def test_bytes_that_are_no_text_do_not_cost_a_record() -> None:
    assert record(b'{"text":"a\xffb"}') == {"text": "a\ufffdb"}


def test_a_line_for_the_terminal_alone_is_not_output() -> None:
    (line,) = lines(b"\x1b[?1006l\x1b(B\x0f\x1b[>4m\x1b[<u\x1b7\x1b[r\x1b8\x1b]0;\x07\x1b[?25h", "stdout")
    assert line.other().kind == TERMINAL
    (line,) = lines(b"\x1b[1mhello\x1b[0m", "stdout")
    assert line.other().kind is None


def test_half_a_surrogate_pair_becomes_a_character_that_can_be_written() -> None:
    assert text_at(record(rb'{"a":"x\ud800y"}'), "a") == "x\ufffdy"
    assert text_at(record(rb'{"a":"\ud83d\ude00"}'), "a") == "\U0001f600"


def test_a_way_through_what_is_no_object_leads_nowhere() -> None:
    assert at({"a": [1]}, "a", "b") is None
    assert text_at({"a": 1}, "a") == ""


def test_parts_without_text_count_for_nothing() -> None:
    assert text_of_parts([{"text": "a"}, {"image": 1}, 7, {"text": "b"}]) == "a\nb"
    assert text_of_parts("a") == "a"
    assert text_of_parts(None) == ""
