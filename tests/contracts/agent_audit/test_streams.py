"""The streams of a recording as audit files."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from steno.contracts.agent_audit.strace_reader import reconstruct
from steno.contracts.agent_audit.streams import chunks, file_name, stream_files, typescript_header
from steno.evidence import kinds, layout
from steno.evidence.kinds import Event
from steno.model.recording import RecordedSoFar
from support.spools import (
    FINISH,
    ON_TERMINAL,
    RUN_ID,
    STARTED_AT_MS,
    MemoryLayers,
    numbered,
    recording,
    start,
    tape_files,
)

HEADER = typescript_header(RUN_ID)
STARTED = kinds.CommandStarted(pid=7)
MS = 1_000_000
Pieces = list[tuple[int, bytes]]
_PIECES = st.lists(st.tuples(st.integers(0, 99), st.binary(max_size=9)), max_size=9).map(
    lambda pieces: sorted(pieces, key=lambda piece: piece[0])
)


def layers(tapes: dict[str, Pieces], block: int = 3) -> MemoryLayers:
    files: dict[str, bytes] = {}
    for tape, pieces in tapes.items():
        files |= tape_files(tape, pieces)
    terminal = recording(ON_TERMINAL, *tapes)
    events = numbered([start(terminal=terminal), STARTED, kinds.CommandFinished(exit_code=0), FINISH])
    return MemoryLayers(events, files, block)


def made(of: MemoryLayers, attempt: int = 1) -> dict[str, bytes]:
    return {name: b"".join(blocks) for name, blocks in stream_files(RecordedSoFar(of), attempt).items()}


def test_every_part_has_a_name_with_its_number() -> None:
    assert file_name("stdout", 3) == "stdout.3.log"
    assert file_name("fs-diff", 12) == "fs-diff.12.json"


def test_a_split_terminal_gives_both_streams_and_what_it_showed() -> None:
    files = made(
        layers(
            {
                layout.STDIN: [(1, b"in\r")],
                layout.OUTPUT: [(2, b"out\r\nerr\r\n")],
                layout.STDOUT: [(2, b"out\n")],
                layout.STDERR: [(3, b"err\n")],
            }
        ),
        attempt=4,
    )
    assert files["stdout.4.log"] == b"out\n"
    assert files["stderr.4.log"] == b"err\n"
    assert files["stdin.4.log"] == HEADER + b"in\r"
    assert files["pty-output.4.log"] == HEADER + b"out\r\nerr\r\n"
    assert [line.split(b"(")[1][:1] for line in files["fd-trace.4.log"].splitlines()] == [b"1", b"2"]


def test_the_timing_names_the_files_that_it_belongs_to() -> None:
    timing = made(layers({layout.OUTPUT: [(2_000_000, b"ab")]}), attempt=2)["pty-timing.2.log"]
    assert b"H 0.000000 OUTPUT_LOG pty-output.2.log\n" in timing
    assert b"H 0.000000 INPUT_LOG stdin.2.log\n" in timing
    assert b"O 0.002000 2\n" in timing


def timing_of(events: list[Event], files: dict[str, bytes] | None = None) -> list[str]:
    return made(MemoryLayers(events, files))["pty-timing.1.log"].decode().splitlines()


def test_the_timing_is_what_scriptreplay_reads() -> None:
    files = {
        **tape_files(layout.STDIN, [(10 * MS, b"in")]),
        **tape_files(layout.OUTPUT, [(15 * MS, b"out"), (1_500 * MS, b"!")]),
    }
    begun = numbered([start(terminal=ON_TERMINAL), kinds.TerminalResized(90, 31)], 10 * MS)
    finish = Event(2, STARTED_AT_MS, 2_000 * MS + 1_999, RUN_ID, FINISH)
    assert timing_of([*begun, finish], files) == [
        "H 0.000000 TERM xterm",
        "H 0.000000 COLUMNS 100",
        "H 0.000000 LINES 30",
        "H 0.000000 COMMAND sh -c 'echo one two'",
        "H 0.000000 TIMING_LOG pty-timing.1.log",
        "H 0.000000 OUTPUT_LOG pty-output.1.log",
        "H 0.000000 INPUT_LOG stdin.1.log",
        "S 0.010000 SIGWINCH ROWS=31 COLS=90",
        "I 0.000000 2",
        "O 0.005000 3",
        "O 1.485000 1",
        "H 0.500001 DURATION 2.000001",
        "H 0.000000 EXIT_CODE 0",
    ]


def test_a_command_with_line_breaks_stays_on_its_line() -> None:
    lines = timing_of(numbered([start(cmd_redacted=["sh", "-c", "a\nb\r\nc"]), FINISH]))
    assert "H 0.000000 COMMAND sh -c 'a b  c'" in lines


def test_a_run_whose_exit_is_unknown_has_no_exit_code_in_its_timing() -> None:
    finish = kinds.RunFinish(exit_code=None, completed=False, reason="recorder_killed")
    assert not [line for line in timing_of(numbered([start(), finish])) if "EXIT_CODE" in line]


def test_nul_bytes_stay_in_what_was_shown() -> None:
    of = layers({layout.OUTPUT: [(1, b"a\0\0b"), (2, b"\0")]})
    assert made(of)["pty-output.1.log"] == HEADER + b"a\0\0b\0"


def test_a_terminal_that_nobody_split_is_all_stdout() -> None:
    of = layers({layout.OUTPUT: [(1, b"both\r\n")]})
    files = made(of)
    assert (files["stdout.1.log"], files["stderr.1.log"]) == (b"both\r\n", b"")
    assert chunks(RecordedSoFar(of)) == (1, 0)


def test_input_that_was_not_recorded_is_a_log_without_input() -> None:
    assert made(layers({layout.OUTPUT: []}))["stdin.1.log"] == HEADER


def test_two_pipes_are_merged_into_what_was_shown() -> None:
    of = layers({layout.STDOUT: [(1, b"a"), (3, b"c")], layout.STDERR: [(2, b"b")]})
    assert made(of)["pty-output.1.log"] == HEADER + b"abc"


@given(_PIECES, _PIECES)
def test_the_trace_gives_the_same_streams_and_as_many_writes_as_are_told(out: Pieces, err: Pieces) -> None:
    of = layers({layout.STDOUT: out, layout.STDERR: err})
    files = made(of)
    rebuilt = (io.BytesIO(), io.BytesIO())
    told = reconstruct(io.BytesIO(files["fd-trace.1.log"]), *rebuilt)
    assert [stream.getvalue() for stream in rebuilt] == [files["stdout.1.log"], files["stderr.1.log"]]
    assert (told.stdout_chunks, told.stderr_chunks) == chunks(RecordedSoFar(of))
    assert told.complete


def test_a_piece_that_strace_would_cut_counts_as_the_writes_it_becomes() -> None:
    of = layers({layout.STDOUT: [(1, b"x" * 65_536)], layout.STDERR: []}, block=1 << 16)
    assert chunks(RecordedSoFar(of)) == (2, 0)
    assert made(of)["fd-trace.1.log"].count(b"\n") == 2
