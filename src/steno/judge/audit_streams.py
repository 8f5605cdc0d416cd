"""The streams of a recording as the audit files of the fourth seed.

In: layers and the number of an attempt. Out: the names of the files with their bytes, in blocks, and how the
two streams were told apart. `stdin`, `pty-output` and `pty-timing` are what scriptreplay(1) reads. Where
nobody split a terminal, all of its output is stdout: nothing is guessed, and the source says so. Never opens
a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge import replay, streams
from steno.judge.facts import RunFacts
from steno.judge.trace_writer import MOST_SHOWN, STDERR, STDOUT, Piece, trace

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
_JSON = frozenset({"meta", "fs-before", "fs-after", "fs-diff"})
_PTS = 0  # the number of the terminal is not recorded; the streams do not depend on it

# split: by whoever watched the writes; separate: two pipes; merged: not at all; strace: the seed's own chain
TraceSource = Literal["split", "separate", "merged", "strace"]
_SOURCES: dict[str, TraceSource] = {"split": "split", "separate": "separate", "merged": "merged"}


class Chunks(NamedTuple):
    stdout: int
    stderr: int


def file_name(part: str, attempt: int) -> str:
    return f"{part}.{attempt}.{'json' if part in _JSON else 'log'}"


def stream_files(layers: Layers, attempt: int) -> dict[str, Iterator[bytes]]:
    names = {part: file_name(part, attempt) for part in PARTS}
    logs = replay.Logs(timing=names["pty-timing"], output=names["pty-output"], stdin=names["stdin"])
    out, err = tapes(layers)
    return {
        names["stdin"]: replay.typed_input(layers),
        names["stdout"]: layers.read(out),
        names["stderr"]: iter(()) if err is None else layers.read(err),
        names["pty-output"]: replay.merged_output(layers),
        names["pty-timing"]: replay.timing(layers, logs),
        names["fd-trace"]: _trace(layers),
    }


def tapes(layers: Layers) -> tuple[str, str | None]:
    """What stdout and stderr are read from; a terminal that nobody split has no stderr."""
    if layout.STDOUT in streams.recorded(layers):
        return layout.STDOUT, layout.STDERR
    return layout.OUTPUT, None


def chunks(layers: Layers) -> Chunks:
    """How many writes the trace has for each stream."""
    out, err = tapes(layers)
    return Chunks(_writes(layers, out), 0 if err is None else _writes(layers, err))


def trace_source(facts: RunFacts) -> TraceSource:
    return _SOURCES[facts.start.terminal.streams]


def _trace(layers: Layers) -> Iterator[bytes]:
    out, err = tapes(layers)
    pieces = [_pieces(layers, out, STDOUT)]
    if err is not None:
        pieces.append(_pieces(layers, err, STDERR))
    return trace(*pieces, pid=RunFacts.of(layers).pid or 0, pts=_PTS)


def _pieces(layers: Layers, tape: str, stream: str) -> Iterator[Piece]:
    return (Piece(moment.mono_ns, stream, moment.data) for moment in streams.tape_moments(layers, tape))


def _writes(layers: Layers, tape: str) -> int:
    return sum(-(-arrival.length // MOST_SHOWN) for arrival in layers.arrivals(tape))
