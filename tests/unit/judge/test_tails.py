"""Tails: the last bytes of a stream, never half a character at the front."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spools import ON_TERMINAL, START, MemoryLayers, numbered, recording, start, tape_files
from steno.evidence import layout
from steno.judge.tails import tail


def tail_of(data: bytes, limit: int, tape: str = layout.STDOUT) -> bytes:
    return tail(MemoryLayers(numbered([START]), tape_files(tape, [(1, data)]), 4096), tape, limit)


def test_one_large_chunk_gives_its_end_and_not_nothing() -> None:
    data = b"".join(b"%09d\n" % number for number in range(1000))
    assert tail_of(data, 4000) == data[-4000:]


def test_a_stream_shorter_than_the_limit_is_its_own_tail() -> None:
    assert tail_of(b"short", 4000) == b"short"
    assert tail_of(b"", 4000) == b""
    assert tail_of(b"exact", 5) == b"exact"


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_gives_nothing(limit: int) -> None:
    assert tail_of(b"text", limit) == b""


@pytest.mark.parametrize(
    ("limit", "expected"), [(1, ""), (2, ""), (3, "\u20ac"), (4, "\u20ac"), (6, "\u20ac\u20ac")]
)
def test_a_cut_inside_a_character_drops_the_rest_of_it(limit: int, expected: str) -> None:
    assert tail_of("\u20ac\u20ac\u20ac".encode(), limit).decode() == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.integers(1, 60))
def test_the_tail_of_text_is_text_and_at_most_three_bytes_short(text: str, limit: int) -> None:
    data = text.encode()
    found = tail_of(data, limit)
    assert data.endswith(found)
    assert text.endswith(found.decode())
    assert min(limit, len(data)) - 3 <= len(found) <= limit


def test_no_more_than_three_bytes_are_dropped_from_what_is_not_text() -> None:
    assert tail_of(b"\x80" * 100, 10) == b"\x80" * 7


def test_a_stream_that_begins_with_half_a_character_keeps_it() -> None:
    assert tail_of(b"\x80abc", 4) == b"\x80abc"


def test_on_a_merged_terminal_stdout_is_the_output_and_stderr_is_empty() -> None:
    events = numbered([start(terminal=ON_TERMINAL)])
    layers = MemoryLayers(events, tape_files(layout.OUTPUT, [(1, b"both")]))
    assert tail(layers, layout.STDOUT, 4000) == b"both"
    assert tail(layers, layout.STDERR, 4000) == b""


def test_on_a_split_terminal_stdout_is_its_own_though_nothing_was_written_to_it() -> None:
    terminal = recording(ON_TERMINAL, layout.STDOUT, layout.STDERR, layout.OUTPUT)
    files = {**tape_files(layout.OUTPUT, [(1, b"no\r\n")]), **tape_files(layout.STDERR, [(1, b"no\n")])}
    layers = MemoryLayers(numbered([start(terminal=terminal)]), files)
    assert tail(layers, layout.STDOUT, 4000) == b""
    assert tail(layers, layout.STDERR, 4000) == b"no\n"
