"""The session of an attempt: the id by which its conversation can be continued.

In: the name of a parser, and stdout and stderr in blocks, as long as they like. Out: the last session that
was told, by the parser's own rules, or at a field that a description names when the parser knows of none.
What is held is one line, or one block of iFlow. Never takes a value that could be more than a plain word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct

from steno.agents.streams import iflow
from steno.agents.streams.documents import SessionFinder
from steno.agents.streams.lines import MAX_RECORD, at, record, text_at
from steno.agents.streams.reading import Parser, parser
from steno.agents.streams.said import SessionStarted, Span, Stream
from steno.lines import LineSplitter

# It becomes a word of a command line: nothing that could be taken for an option, a path or two words.
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}", re.ASCII)
_NOWHERE = Span("stdout", 0, 0)

Finder = Callable[[bytes], Iterable[str]]  # the sessions that one more line tells


class Session(Struct, frozen=True):
    """Nothing is known: all three are None."""

    field: str | None = None
    value: str | None = None
    source: Literal["stdout", "stderr"] | None = None


def is_session(value: str) -> bool:
    """Whether a value can be a word of a command line that names a session."""
    return _SESSION.fullmatch(value) is not None


def session_of(
    name: str, stdout: Iterable[bytes], stderr: Iterable[bytes], *, field: str | None = None
) -> Session:
    chosen = parser(name)
    field = None if field == chosen.session_field else field
    told, named = Session(), Session()
    streams: tuple[tuple[Stream, Iterable[bytes]], ...] = (("stdout", stdout), ("stderr", stderr))
    for stream, blocks in streams:
        told_by, named_by = _finder(chosen, stream), _finder_of_field(field)
        written_by = _finder_of_documents(chosen)
        if told_by is _nothing and named_by is _nothing and written_by is _nothing:
            continue
        for line in _lines(blocks):
            told = _last(told_by(line), told, chosen.session_field, stream)
            told = _last(written_by(line), told, chosen.session_field, stream)
            named = _last(named_by(line), named, field, stream)
    return told if told.value is not None else named


def _last(found: Iterable[str], before: Session, field: str | None, stream: Stream) -> Session:
    for value in found:
        if is_session(value):
            before = Session(field, value, stream)
    return before


def _finder(chosen: Parser, stream: Stream) -> Finder:
    if chosen.session_field == iflow.SESSION_FIELD:
        return iflow.SessionFinder()
    reader = chosen.reader
    if reader is None or stream == "stderr":
        return _nothing

    def told(line: bytes) -> Iterator[str]:
        found = record(line) if _may_name(chosen.session_field or "", line) else None
        # A new reader for each: it holds what it reads, and the last session is all that is wanted.
        for event in (reader().read(found, _NOWHERE) or ()) if found is not None else ():
            if isinstance(event, SessionStarted):
                yield event.session

    return told


def _finder_of_documents(chosen: Parser) -> Finder:
    field = chosen.session_field or ""
    if chosen.is_document is None:
        return _nothing
    return SessionFinder(chosen.is_document, lambda found: text_at(found, field))


def _finder_of_field(field: str | None) -> Finder:
    if field is None:
        return _nothing
    way = field.split(".")

    def named(line: bytes) -> Iterator[str]:
        value = at(record(line), *way) if _may_name(way[-1], line) else None
        if isinstance(value, str):
            yield value

    return named


def _may_name(field: str, line: bytes) -> bool:
    """Whether a record can have a field of this name; JSON may spell it with escapes."""
    return field.encode() in line or b"\\" in line


def _nothing(_: bytes) -> Iterable[str]:
    return ()


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Without those that are too long to be a record."""
    cutter = LineSplitter(MAX_RECORD)
    for block in blocks:
        yield from (line for line in cutter.feed(block) if isinstance(line, bytes))
    if rest := cutter.rest():
        yield rest
