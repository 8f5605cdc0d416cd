"""A terminal as asciicast v3: its header, its times, and text that is whole."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import kinds, layout
from steno.evidence.kinds import Event, EventData
from steno.judge import terminal
from support.spools import (
    FINISH,
    ON_TERMINAL,
    RUN_ID,
    START,
    STARTED_AT_MS,
    MemoryLayers,
    numbered,
    start,
    tape_files,
)

MS = 1_000_000


def events_until(end_ns: int, *data: EventData, first: kinds.RunStart = START) -> list[Event]:
    """A run with these events in its middle, whose last event is at `end_ns`."""
    return [*numbered([first, *data], 10 * MS), Event(len(data) + 1, STARTED_AT_MS, end_ns, RUN_ID, FINISH)]


def cast_of(layers: MemoryLayers) -> tuple[dict[str, Any], list[tuple[Decimal, str, str]]]:
    header, *lines = b"".join(terminal.cast(layers)).splitlines()
    found = [json.loads(line, parse_float=Decimal) for line in lines]
    return json.loads(header), [(interval, code, text) for interval, code, text in found]


def text_of(layers: MemoryLayers, code: str = "o") -> str:
    return "".join(text for _, found, text in cast_of(layers)[1] if found == code)


def test_the_cast_has_the_header_of_version_3() -> None:
    events = events_until(MS, first=start(terminal=ON_TERMINAL))
    header, lines = cast_of(MemoryLayers(events))
    assert header == {
        "version": 3,
        "term": {"cols": 100, "rows": 30, "type": "xterm"},
        "timestamp": STARTED_AT_MS // 1000,
        "command": "sh -c 'echo one two'",
    }
    assert lines == [(Decimal("0.001"), "x", "0")]


def test_a_run_without_a_terminal_gets_a_usual_size() -> None:
    assert cast_of(MemoryLayers(events_until(MS)))[0]["term"] == {"cols": 80, "rows": 24}


def test_a_run_whose_exit_is_unknown_ends_without_a_status() -> None:
    finish = kinds.RunFinish(exit_code=None, completed=False, reason="recorder_killed")
    layers = MemoryLayers(numbered([START, finish]))
    assert cast_of(layers)[1] == []


@given(st.lists(st.tuples(st.integers(0, 10**10), st.just(b"x")), max_size=20))
def test_intervals_add_up_to_the_microsecond_without_drift(chunks: list[tuple[int, bytes]]) -> None:
    chunks.sort()
    layers = MemoryLayers(events_until(10**10), tape_files(layout.STDOUT, chunks))
    total, seen = Decimal(0), []
    for interval, code, _ in cast_of(layers)[1]:
        assert interval >= 0
        total += interval
        if code == "o":
            seen.append(total)
    assert seen == [Decimal(mono_ns // 1000) / 1_000_000 for mono_ns, _ in chunks]
    assert total == Decimal(10)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.integers(1, 5))
def test_a_character_cut_between_chunks_is_whole_in_the_cast(text: str, size: int) -> None:
    data = text.encode()
    chunks = [(at, data[at : at + size]) for at in range(0, len(data), size)]
    assert text_of(MemoryLayers(events_until(10**6), tape_files(layout.STDOUT, chunks))) == text


def test_characters_of_the_two_streams_do_not_run_into_each_other() -> None:
    files = {
        **tape_files(layout.STDOUT, [(1, b"\xc3"), (3, b"\xa9")]),
        **tape_files(layout.STDERR, [(2, "\u20ac".encode())]),
    }
    assert text_of(MemoryLayers(events_until(MS), files)) == "\u20ac\u00e9"


def test_bytes_that_are_not_utf_8_are_marked_and_the_rest_stays() -> None:
    layers = MemoryLayers(events_until(MS), tape_files(layout.STDOUT, [(1, b"a\xffb"), (2, b"c\xe2\x82")]))
    assert text_of(layers) == "a\ufffdbc\ufffd"


def test_nul_bytes_are_left_out_of_the_cast() -> None:
    layers = MemoryLayers(events_until(MS), tape_files(layout.STDOUT, [(1, b"a\0\0b"), (2, b"\0")]))
    assert text_of(layers) == "ab"


def test_control_characters_and_quotes_are_escaped() -> None:
    text = '\x1b[31m"\\\r\n\u2028'
    assert text_of(MemoryLayers(events_until(MS), tape_files(layout.STDOUT, [(1, text.encode())]))) == text


def test_input_and_resizes_have_their_own_codes() -> None:
    layers = MemoryLayers(
        events_until(20 * MS, kinds.TerminalResized(90, 31)), tape_files(layout.STDIN, [(1000, b"ls\r")])
    )
    assert cast_of(layers)[1] == [
        (Decimal("0.000001"), "i", "ls\r"),
        (Decimal("0.009999"), "r", "90x31"),
        (Decimal("0.01"), "x", "0"),
    ]
