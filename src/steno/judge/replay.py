"""The terminal files that other programs read: merged output, script(1) timing, asciicast v3.

The recorded streams stay the exact record; the cast is text, so bytes that are not UTF-8 show there as
U+FFFD, and NUL bytes, which a terminal ignores and JSON writes in six, are left out.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge import streams
from steno.judge.facts import RunFacts

_json = msgspec.json.Encoder(order="sorted").encode
NANO = 1_000_000_000
DEFAULT_SIZE = (80, 24)


class Logs(NamedTuple):
    """The names of the files that scriptreplay(1) is given."""

    timing: str
    output: str
    stdin: str


LOGS = Logs("timing", "output", "stdin")


def typescript_header(run_id: str) -> bytes:
    """scriptreplay(1) skips the first line of each log; `output` and `stdin` begin with this one."""
    return f"Script started, recorded by steno as {run_id}\n".encode()


def typed_input(layers: Layers) -> Iterator[bytes]:
    yield typescript_header(layers.run_id)
    yield from layers.read(layout.STDIN)


def merged_output(layers: Layers) -> Iterator[bytes]:
    yield typescript_header(layers.run_id)
    for moment in streams.output_moments(layers):
        yield moment.data


def timing(layers: Layers, logs: Logs = LOGS) -> Iterator[bytes]:
    facts = RunFacts.of(layers)
    for name, value in _timing_header(facts, logs):
        yield f"H 0.000000 {name} {value}\n".encode()
    clock = _Clock()
    for moment in streams.timeline(layers):
        interval = clock.advance(moment.mono_ns)
        if moment.code == streams.RESIZE:
            yield f"S {interval} SIGWINCH ROWS={moment.rows} COLS={moment.cols}\n".encode()
        elif moment.data:
            letter = "I" if moment.code == streams.INPUT else "O"
            yield f"{letter} {interval} {len(moment.data)}\n".encode()
    yield f"H {clock.advance(facts.end_ns)} DURATION {_seconds(facts.end_ns)}\n".encode()
    if facts.exit_code is not None:
        yield f"H 0.000000 EXIT_CODE {facts.exit_code}\n".encode()


def cast(layers: Layers) -> Iterator[bytes]:
    facts = RunFacts.of(layers)
    cols, rows = facts.size or DEFAULT_SIZE
    term: dict[str, Any] = {"cols": cols, "rows": rows}
    if facts.term:
        term["type"] = facts.term
    header = {
        "version": 3,
        "term": term,
        "timestamp": facts.started_at_ms // 1000,
        "command": facts.command_line,
    }
    yield _json(header) + b"\n"
    clock = _Clock()
    decoders = {code: _utf8_decoder() for code in (streams.INPUT, streams.OUTPUT, streams.ERRORS)}
    for moment in streams.timeline(layers):
        if moment.code == streams.RESIZE:
            yield _cast_line(clock.advance(moment.mono_ns), "r", f"{moment.cols}x{moment.rows}")
        elif text := decoders[moment.code].decode(moment.data.replace(b"\0", b"")):
            code = "i" if moment.code == streams.INPUT else "o"
            yield _cast_line(clock.advance(moment.mono_ns), code, text)
    for code, decoder in decoders.items():
        if text := decoder.decode(b"", final=True):
            yield _cast_line("0.000000", "i" if code == streams.INPUT else "o", text)
    if facts.exit_code is not None:
        yield _cast_line(clock.advance(facts.end_ns), "x", str(facts.exit_code))


def _timing_header(facts: RunFacts, logs: Logs) -> Iterator[tuple[str, str]]:
    if facts.term:
        yield "TERM", facts.term
    if facts.size:
        yield "COLUMNS", str(facts.size[0])
        yield "LINES", str(facts.size[1])
    yield "COMMAND", facts.command_line.replace("\n", " ").replace("\r", " ")
    yield "TIMING_LOG", logs.timing
    yield "OUTPUT_LOG", logs.output
    yield "INPUT_LOG", logs.stdin


def _cast_line(interval: str, code: str, text: str) -> bytes:
    return b'[%s,"%s",%s]\n' % (interval.encode(), code.encode(), _json(text))


def _utf8_decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // NANO}.{nanoseconds % NANO // 1000:06d}"


class _Clock:
    """Intervals in microseconds that add up: each is cut from the same running total."""

    def __init__(self) -> None:
        self._micros = 0

    def advance(self, mono_ns: int) -> str:
        now = max(mono_ns // 1000, self._micros)
        interval, self._micros = now - self._micros, now
        return f"{interval // 1_000_000}.{interval % 1_000_000:06d}"
