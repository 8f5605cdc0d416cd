"""The streams of a recording as the audit files of an attempt, and the trace that strace would have written.

`stdin`, `pty-output` and `pty-timing` are what scriptreplay(1) reads. Where nobody split a terminal, all of
its output is stdout: nothing is guessed, and the source says so.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from steno.evidence import layout
from steno.model.recording import (
    INPUT,
    RESIZE,
    Clock,
    Recording,
    RunFacts,
    output_moments,
    recorded,
    tape_moments,
    timeline,
)

AUDIT = ".audit"
PARTS = (
    "meta",
    "stdin",
    "stdout",
    "stderr",
    "pty-output",
    "pty-timing",
    "fd-trace",
    "fs-before",
    "fs-after",
    "fs-diff",
)
STDOUT, STDERR = "stdout", "stderr"
MOST_SHOWN = 65535  # strace -s
_RESULT_COLUMN = 40  # strace -a
_TERMINAL_MAJOR = 136
_FD = {STDOUT: 1, STDERR: 2}
_BEFORE_A_DIGIT = re.compile(rb"[^ -~](?=[0-7])", re.DOTALL)
_NAMED = {
    b"\n": b"\\n",
    b"\t": b"\\t",
    b"\r": b"\\r",
    b"\f": b"\\f",
    b"\v": b"\\v",
    b'"': b'\\"',
    b"\\": b"\\\\",
}
_BYTES = [bytes([value]) for value in range(256)]
_SHORT = [_NAMED.get(byte, byte if b" " <= byte <= b"~" else b"\\%o" % byte[0]) for byte in _BYTES]
_LONG = [_NAMED.get(byte, b"\\%03o" % byte[0]) for byte in _BYTES]
_JSON = frozenset({"meta", "fs-before", "fs-after", "fs-diff"})
_NANO = 1_000_000_000
_PTS = 0  # the number of the terminal is not recorded; the streams do not depend on it

# split: by whoever watched the writes; separate: two pipes; merged: not at all; strace: by script and strace
TraceSource = Literal["split", "separate", "merged", "strace"]
_SOURCES: dict[str, TraceSource] = {"split": "split", "separate": "separate", "merged": "merged"}


class Piece(NamedTuple):
    mono_ns: int
    stream: str
    data: bytes


class Chunks(NamedTuple):
    stdout: int
    stderr: int


def file_name(part: str, attempt: int) -> str:
    return f"{part}.{attempt}.{'json' if part in _JSON else 'log'}"


def stream_files(run: Recording, attempt: int) -> dict[str, Iterator[bytes]]:
    names = {part: file_name(part, attempt) for part in PARTS}
    layers = run.evidence
    out, err = tapes(run)
    return {
        names["stdin"]: _typed_input(run),
        names["stdout"]: layers.read(out),
        names["stderr"]: iter(()) if err is None else layers.read(err),
        names["pty-output"]: _merged_output(run),
        names["pty-timing"]: _timing(run, names),
        names["fd-trace"]: _trace(run),
    }


def typescript_header(run_id: str) -> bytes:
    """scriptreplay(1) skips the first line of each log; `pty-output` and `stdin` begin with this one."""
    return f"Script started, recorded by steno as {run_id}\n".encode()


def tapes(run: Recording) -> tuple[str, str | None]:
    """What stdout and stderr are read from; a terminal that nobody split has no stderr."""
    if layout.STDOUT in recorded(run.evidence):
        return layout.STDOUT, layout.STDERR
    return layout.OUTPUT, None


def chunks(run: Recording) -> Chunks:
    """How many writes the trace has for each stream."""
    out, err = tapes(run)
    return Chunks(_writes(run, out), 0 if err is None else _writes(run, err))


def trace_source(facts: RunFacts) -> TraceSource:
    """A word of a newer Steno says nothing that this contract could tell."""
    return _SOURCES.get(facts.start.terminal.streams, "merged")


def trace(*tapes: Iterable[Piece], pid: int, pts: int) -> Iterator[bytes]:
    """The lines that `strace -f -yy -s 65535 -e trace=write` would have had of these writes.

    Each of the tapes is in order of time. A piece that strace would cut becomes several lines.
    """
    for piece in heapq.merge(*tapes, key=lambda piece: piece.mono_ns):
        for start in range(0, len(piece.data), MOST_SHOWN):
            yield _line(pid, pts, _FD[piece.stream], piece.data[start : start + MOST_SHOWN])


def quoted(data: bytes) -> bytes:
    """As strace shows a string: three digits only where fewer would run into the next character."""
    parts: list[bytes] = []
    start = 0
    for found in _BEFORE_A_DIGIT.finditer(data):
        parts += map(_SHORT.__getitem__, data[start : found.start()])
        parts.append(_LONG[found[0][0]])
        start = found.end()
    parts += map(_SHORT.__getitem__, data[start:])
    return b"".join(parts)


def _typed_input(run: Recording) -> Iterator[bytes]:
    yield typescript_header(run.facts.run_id)
    yield from run.evidence.read(layout.STDIN)


def _merged_output(run: Recording) -> Iterator[bytes]:
    yield typescript_header(run.facts.run_id)
    for moment in output_moments(run.evidence):
        yield moment.data


def _timing(run: Recording, names: dict[str, str]) -> Iterator[bytes]:
    facts = run.facts
    for name, value in _timing_header(facts, names):
        yield f"H 0.000000 {name} {value}\n".encode()
    clock = Clock()
    for moment in timeline(run.evidence):
        interval = clock.advance(moment.mono_ns)
        if moment.code == RESIZE:
            yield f"S {interval} SIGWINCH ROWS={moment.rows} COLS={moment.cols}\n".encode()
        elif moment.data:
            letter = "I" if moment.code == INPUT else "O"
            yield f"{letter} {interval} {len(moment.data)}\n".encode()
    yield f"H {clock.advance(facts.end_ns)} DURATION {_seconds(facts.end_ns)}\n".encode()
    if facts.exit_code is not None:
        yield f"H 0.000000 EXIT_CODE {facts.exit_code}\n".encode()


def _timing_header(facts: RunFacts, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    if facts.term:
        yield "TERM", facts.term
    if facts.size:
        yield "COLUMNS", str(facts.size[0])
        yield "LINES", str(facts.size[1])
    yield "COMMAND", facts.command_line.replace("\n", " ").replace("\r", " ")
    yield "TIMING_LOG", names["pty-timing"]
    yield "OUTPUT_LOG", names["pty-output"]
    yield "INPUT_LOG", names["stdin"]


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // _NANO}.{nanoseconds % _NANO // 1000:06d}"


def _line(pid: int, pts: int, fd: int, data: bytes) -> bytes:
    device = b"/dev/pts/%d<char %d:%d>" % (pts, _TERMINAL_MAJOR, pts)
    call = b'%-5d write(%d<%s>, "%s", %d) ' % (pid, fd, device, quoted(data), len(data))
    return b"%s= %d\n" % (call.ljust(_RESULT_COLUMN), len(data))


def _trace(run: Recording) -> Iterator[bytes]:
    out, err = tapes(run)
    pieces = [_pieces(run, out, STDOUT)]
    if err is not None:
        pieces.append(_pieces(run, err, STDERR))
    return trace(*pieces, pid=run.facts.pid or 0, pts=_PTS)


def _pieces(run: Recording, tape: str, stream: str) -> Iterator[Piece]:
    return (Piece(moment.mono_ns, stream, moment.data) for moment in tape_moments(run.evidence, tape))


def _writes(run: Recording, tape: str) -> int:
    return sum(-(-arrival.length // MOST_SHOWN) for arrival in run.evidence.arrivals(tape))
