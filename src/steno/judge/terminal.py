"""The recorded streams as one timeline, with the resizes between, and the same as asciicast v3.

Where the terminal itself was recorded it is what was shown; stdout and stderr beside it are the same bytes as
the programs wrote them, and are not shown again. A cast is text: bytes that are not UTF-8 show there as
U+FFFD, and NUL bytes, which a terminal ignores and JSON writes in six, are left out.
"""

from __future__ import annotations

import codecs
import heapq
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from steno.evidence import kinds, layout
from steno.evidence.layers import Layers
from steno.judge.facts import RunFacts

INPUT, OUTPUT, ERRORS, RESIZE = "i", "o", "e", "r"

_CODE = {layout.STDIN: INPUT, layout.STDOUT: OUTPUT, layout.OUTPUT: OUTPUT, layout.STDERR: ERRORS}
_ORDER = {RESIZE: 0, INPUT: 1, OUTPUT: 2, ERRORS: 3}


class Moment(NamedTuple):
    mono_ns: int
    code: str
    data: bytes
    cols: int = 0
    rows: int = 0


class Clock:
    """Intervals in microseconds that add up: each is cut from the same running total."""

    def __init__(self) -> None:
        self._micros = 0

    def advance(self, mono_ns: int) -> str:
        now = max(mono_ns // 1000, self._micros)
        interval, self._micros = now - self._micros, now
        return f"{interval // 1_000_000}.{interval % 1_000_000:06d}"


def recorded(layers: Layers) -> list[str]:
    """The streams of which the bytes were recorded, if any came."""
    first = next(layers.events(), None)
    names = first.data.terminal.recorded if first and isinstance(first.data, kinds.RunStart) else []
    return [tape for tape in layout.TAPES if tape.rpartition("/")[2] in names]


def timeline(layers: Layers) -> Iterator[Moment]:
    wanted = {*recorded(layers)}
    shown = (layout.OUTPUT,) if layout.OUTPUT in wanted else (layout.STDOUT, layout.STDERR)
    tapes = [tape_moments(layers, tape) for tape in (layout.STDIN, *shown) if tape in wanted]
    yield from heapq.merge(*tapes, _resizes(layers), key=lambda moment: (moment.mono_ns, _ORDER[moment.code]))


def output_moments(layers: Layers) -> Iterator[Moment]:
    return (moment for moment in timeline(layers) if moment.code in {OUTPUT, ERRORS})


def tape_moments(layers: Layers, tape: str) -> Iterator[Moment]:
    code = _CODE[tape]
    take = _Taker(layers.read(tape))
    for arrival in layers.arrivals(tape):
        yield Moment(arrival.mono_ns, code, take(arrival.length))


def _resizes(layers: Layers) -> Iterator[Moment]:
    for event in layers.events():
        if isinstance(event.data, kinds.TerminalResized):
            yield Moment(event.mono_ns, RESIZE, b"", event.data.cols, event.data.rows)


class _Taker:
    """Takes exact lengths off an iterator of blocks; gives less only at the end."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._block = b""
        self._used = 0

    def __call__(self, length: int) -> bytes:
        end = self._used + length
        if end <= len(self._block):
            taken = self._block[self._used : end]
            self._used = end
            return taken
        parts = [self._block[self._used :]]
        missing = length - len(parts[0])
        while missing > 0:
            self._block = next(self._blocks, b"")
            self._used = min(missing, len(self._block))
            parts.append(self._block[: self._used])
            missing -= self._used
            if not self._block:
                break
        return b"".join(parts)


_json = msgspec.json.Encoder(order="sorted").encode
DEFAULT_SIZE = (80, 24)


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
    clock = Clock()
    decoders = {code: _utf8_decoder() for code in (INPUT, OUTPUT, ERRORS)}
    for moment in timeline(layers):
        if moment.code == RESIZE:
            yield _cast_line(clock.advance(moment.mono_ns), "r", f"{moment.cols}x{moment.rows}")
        elif text := decoders[moment.code].decode(moment.data.replace(b"\0", b"")):
            code = "i" if moment.code == INPUT else "o"
            yield _cast_line(clock.advance(moment.mono_ns), code, text)
    for code, decoder in decoders.items():
        if text := decoder.decode(b"", final=True):
            yield _cast_line("0.000000", "i" if code == INPUT else "o", text)
    if facts.exit_code is not None:
        yield _cast_line(clock.advance(facts.end_ns), "x", str(facts.exit_code))


def _cast_line(interval: str, code: str, text: str) -> bytes:
    return b'[%s,"%s",%s]\n' % (interval.encode(), code.encode(), _json(text))


def _utf8_decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")
