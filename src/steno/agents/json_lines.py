"""The lines of a stream, and the JSON objects among them.

In: the bytes of an audit file, written by a stranger. Out: each line that is not blank with its place, and
the object that it holds if it holds one. Lines, nesting and what is quoted are bounded; the work is linear.
Never raises for what the bytes hold.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn

from steno.agents.events import Other, Span, Stream

JsonObject = dict[str, Any]
MAX_RECORD = 16 << 20
MAX_DEPTH = 64
MAX_RAW = 64 << 10
_ESCAPE = rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])"
ESCAPES = re.compile(_ESCAPE)
_EDGE = re.compile(rb"(?:[\x00-\x1a\x1c-\x20\x7f]|" + _ESCAPE + rb")*")
TERMINAL = "terminal"  # the kind of a line that only tells the terminal how to behave


class Line(NamedTuple):
    span: Span
    content: bytes

    def other(self, kind: str | None = None) -> Other:
        if kind is None and _end_of_edge(self.content) == len(self.content):
            kind = TERMINAL
        quoted = self.content[:MAX_RAW].rstrip(b"\r")
        text = quoted.decode("utf-8", "backslashreplace")
        return Other((self.span,), text, len(self.content) > MAX_RAW, kind)


def lines(data: bytes, stream: Stream, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Those of a part of the stream; a line ends with a newline and with nothing else."""
    end = len(data) if end is None else end
    while start < end:
        newline = data.find(b"\n", start, end)
        stop = end if newline < 0 else newline
        content = data[start:stop]
        if content.strip():
            yield Line(Span(stream, start, stop), content)
        start = stop + 1


def record(content: bytes) -> JsonObject | None:
    """The object that a line holds; a terminal's escapes may stand around it."""
    start = _end_of_edge(content)
    if content[start : start + 1] != b"{" or len(content) > MAX_RECORD:
        return None
    text = content[start:].decode("utf-8", "replace")
    try:
        found, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    rest = text[end:].encode()
    is_all = not rest or _end_of_edge(rest) == len(rest)
    may_be_deep = content.count(b"{") + content.count(b"[") > MAX_DEPTH
    return found if is_all and isinstance(found, dict) and not (may_be_deep and _is_deep(found)) else None


def record_at(data: bytes, start: int) -> tuple[JsonObject | None, int]:
    """The object that begins at a place, over as many lines as it fills, and where it ends."""
    text = data[start : start + MAX_RECORD].decode("utf-8", "surrogateescape")
    try:
        found, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, start
    stop = start + len(text[:end].encode("utf-8", "surrogateescape"))
    return (found if isinstance(found, dict) and not _is_deep(found) else None), stop


def at(data: Any, *way: str) -> Any:
    """None: it is not there."""
    for key in way:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def text_at(data: Any, *way: str) -> str:
    """Empty: it is not there, or it is no text. Half a surrogate pair, which no file holds, is replaced."""
    found = at(data, *way)
    return whole(found) if isinstance(found, str) else ""


def whole(text: str) -> str:
    return (
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def first_text(data: Any, *ways: tuple[str, ...]) -> str:
    return next((text for way in ways if (text := text_at(data, *way))), "")


def text_of_parts(content: Any) -> str:
    """Text, or the text of the parts of a list: the two ways in which results of tools are written."""
    if isinstance(content, str):
        return whole(content)
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := text_at(part, "text")))
    return ""


def _end_of_edge(content: bytes) -> int:
    found = _EDGE.match(content)
    return found.end() if found else 0


def _is_deep(value: Any) -> bool:
    """Whatever is made of a record walks it by recursion; this does not."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number)


IsDocument = Callable[[JsonObject], bool]
_BEGIN = re.compile(rb"^[ \t]*(?P<brace>\{)(?P<rest>[^\n]*)", re.MULTILINE)
_MOST_ATTEMPTS = 16  # each reads to the end at worst


class Document(NamedTuple):
    start: int
    end: int
    found: JsonObject


def documents(data: bytes, is_document: IsDocument) -> Iterator[Document]:
    attempts, at = 0, 0
    if len(data) > MAX_RECORD:
        return
    while begin := _BEGIN.search(data, at):
        start, at = begin.start("brace"), begin.end()
        if begin["rest"].strip():
            found, end = record(data[start:at]), at
        elif attempts < _MOST_ATTEMPTS:
            attempts += 1
            found, end = record_at(data, start)
        else:
            continue
        if found is not None and is_document(found):
            yield Document(start, end, found)
        if found is not None:
            at = end


def without_documents(
    blocks: Iterable[bytes], is_document: IsDocument
) -> tuple[Iterable[bytes], list[Document]]:
    """The stream with empty lines in their places, so that all other lines keep their numbers."""
    source, held = iter(blocks), bytearray()
    for block in source:
        held += block
        if len(held) > MAX_RECORD:
            return chain([bytes(held)], source), []
    data = bytes(held)
    found = list(documents(data, is_document))
    for one in found:
        held[one.start : one.end] = re.sub(rb"[^\n]", b" ", data[one.start : one.end])
    return [bytes(held)], found


class SessionFinder:
    """Given line after line, tells the sessions of the documents that end in it."""

    def __init__(self, is_document: IsDocument, session: Callable[[JsonObject], str]) -> None:
        self._is_document = is_document
        self._session = session
        self._held = bytearray()

    def __call__(self, line: bytes) -> Iterator[str]:
        if line.strip() == b"{":
            self._held.clear()
        elif not self._held:
            yield from self._sessions(line) if line.lstrip().startswith(b"{") else ()
            return
        self._held += line.rstrip(b"\n") + b"\n"
        if len(self._held) > MAX_RECORD:
            self._held.clear()
        elif line.rstrip() == b"}":
            yield from self._sessions(bytes(self._held))
            self._held.clear()

    def _sessions(self, content: bytes) -> Iterator[str]:
        found = record(content)
        if found is not None and self._is_document(found):
            yield self._session(found)
