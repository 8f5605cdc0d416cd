"""What a terminal showed as asciicast v3, for its player and for the page of a report.

The recorded streams stay the exact record; the cast is text, so bytes that are not UTF-8 show there as
U+FFFD, and NUL bytes, which a terminal ignores and JSON writes in six, are left out.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import msgspec

from steno.evidence.layers import Layers
from steno.judge import streams
from steno.judge.facts import RunFacts

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
    clock = streams.Clock()
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


def _cast_line(interval: str, code: str, text: str) -> bytes:
    return b'[%s,"%s",%s]\n' % (interval.encode(), code.encode(), _json(text))


def _utf8_decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")
