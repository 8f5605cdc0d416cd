"""The timeline: every chunk at its time, in an order that does not depend on how files are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import kinds, layout
from steno.evidence.kinds import Event
from steno.judge import terminal as streams
from steno.judge.terminal import ERRORS, INPUT, OUTPUT, RESIZE, Moment
from support.spools import (
    FINISH,
    ON_TERMINAL,
    PIPES,
    RUN_ID,
    START,
    STARTED_AT_MS,
    MemoryLayers,
    numbered,
    recording,
    start,
    tape_files,
)

CHUNKS = st.lists(st.tuples(st.integers(0, 20), st.binary(max_size=10)), max_size=8).map(
    lambda chunks: sorted(chunks, key=lambda chunk: chunk[0])
)


def resized(mono_ns: int, cols: int, rows: int) -> Event:
    return Event(1, STARTED_AT_MS, mono_ns, RUN_ID, kinds.TerminalResized(cols, rows))


def test_streams_are_merged_by_time_and_on_a_tie_resize_input_output_errors() -> None:
    files = {
        **tape_files(layout.STDERR, [(5, b"e1"), (7, b"e2")]),
        **tape_files(layout.STDOUT, [(5, b"o1"), (6, b"o2")]),
        **tape_files(layout.STDIN, [(5, b"i1")]),
    }
    layers = MemoryLayers([*numbered([START]), resized(5, 90, 30), *numbered([FINISH])], files)
    assert list(streams.timeline(layers)) == [
        Moment(5, RESIZE, b"", 90, 30),
        Moment(5, INPUT, b"i1"),
        Moment(5, OUTPUT, b"o1"),
        Moment(5, ERRORS, b"e1"),
        Moment(6, OUTPUT, b"o2"),
        Moment(7, ERRORS, b"e2"),
    ]
    assert [moment.data for moment in streams.output_moments(layers)] == [b"o1", b"e1", b"o2", b"e2"]


@given(CHUNKS, CHUNKS, st.integers(1, 12))
def test_no_byte_is_lost_or_moved_whatever_the_size_of_the_blocks(
    stdout: list[tuple[int, bytes]], stdin: list[tuple[int, bytes]], block: int
) -> None:
    files = {**tape_files(layout.STDOUT, stdout), **tape_files(layout.STDIN, stdin)}
    moments = list(streams.timeline(MemoryLayers(numbered([START]), files, block)))
    times = [moment.mono_ns for moment in moments]
    assert times == sorted(times)
    assert [(moment.mono_ns, moment.data) for moment in moments if moment.code == OUTPUT] == stdout
    assert [(moment.mono_ns, moment.data) for moment in moments if moment.code == INPUT] == stdin


def test_a_merged_terminal_is_one_stream_of_output() -> None:
    events = numbered([start(terminal=ON_TERMINAL)])
    layers = MemoryLayers(events, tape_files(layout.OUTPUT, [(1, b"both")]))
    assert list(streams.timeline(layers)) == [Moment(1, OUTPUT, b"both")]


def test_a_split_terminal_is_shown_once() -> None:
    files = {
        **tape_files(layout.OUTPUT, [(1, b"one\r\n"), (2, b"two\r\n")]),
        **tape_files(layout.STDOUT, [(1, b"one\n")]),
        **tape_files(layout.STDERR, [(2, b"two\n")]),
    }
    terminal = recording(ON_TERMINAL, layout.OUTPUT, layout.STDOUT, layout.STDERR)
    layers = MemoryLayers(numbered([start(terminal=terminal)]), files)
    assert [moment.data for moment in streams.timeline(layers)] == [b"one\r\n", b"two\r\n"]


def test_an_index_that_promises_more_than_there_is_gives_what_there_is() -> None:
    files = tape_files(layout.STDOUT, [(1, b"abc"), (2, b"def")])
    files[layout.STDOUT] = b"abcd"
    assert [moment.data for moment in streams.timeline(MemoryLayers(numbered([START]), files))] == [
        b"abc",
        b"d",
    ]


@pytest.mark.parametrize(
    ("terminal", "expected"),
    [
        (PIPES, [layout.STDIN, layout.STDOUT, layout.STDERR]),
        (recording(PIPES), []),
        (recording(ON_TERMINAL, layout.OUTPUT, "a/later"), [layout.OUTPUT]),
    ],
)
def test_which_streams_were_recorded_is_told_by_the_first_event_whether_bytes_came_or_not(
    terminal: kinds.Terminal, expected: list[str]
) -> None:
    layers = MemoryLayers(numbered([start(terminal=terminal)]))
    assert streams.recorded(layers) == expected
    assert list(streams.timeline(layers)) == []


def test_a_record_without_its_first_event_tells_of_no_stream() -> None:
    files = tape_files(layout.STDOUT, [(1, b"a")])
    for events in ([], numbered([FINISH])):
        assert streams.recorded(MemoryLayers(events, files)) == []


def test_a_file_of_a_stream_that_was_not_recorded_is_not_shown() -> None:
    files = {**tape_files(layout.STDOUT, [(1, b"a")]), **tape_files(layout.OUTPUT, [(2, b"b")])}
    assert [moment.data for moment in streams.timeline(MemoryLayers(numbered([START]), files))] == [b"a"]
