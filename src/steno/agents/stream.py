"""Which parser reads which stream, and what all of them share.

In: the name of a parser, the bytes of stdout and stderr, and the agent's terminal signals. Out: the events,
those of stdout first, in the order in which the agent wrote them; every line that is not blank is in one of
them. Never opens a file, never raises for what a stream holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from steno.agents.definition import Meaning, TerminalSignal, TerminalSignals
from steno.agents.events import Event, SessionStarted, Span, Stream
from steno.agents.json_lines import (
    MAX_RECORD,
    Document,
    IsDocument,
    JsonObject,
    SessionFinder,
    at,
    documents,
    lines,
    record,
    text_at,
)
from steno.errors import BadRequestError
from steno.lines import LineSplitter


class Reader(Protocol):
    def read(self, found: JsonObject, span: Span) -> Iterable[Event] | None: ...

    def ended(self, found: JsonObject, span: Span, *, ok: bool) -> Iterable[Event]:
        """A record that ends a turn."""

    def finish(self) -> Iterable[Event]:
        """What it still holds when the stream ends."""


class Sessions:
    """Tells a session once, in streams that name it in every record."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._known = ""

    def started(self, found: JsonObject, span: Span) -> list[Event]:
        session = text_at(found, self._field)
        if session in {"", self._known}:
            return []
        self._known = session
        return [SessionStarted((span,), session)]


def events_of_record(
    reader: Reader, found: JsonObject, span: Span, meaning: Meaning | None
) -> Iterable[Event] | None:
    if meaning is not None:
        return reader.ended(found, span, ok=meaning == "end_of_turn")
    return reader.read(found, span)


def events_of_records(
    stdout: bytes,
    stderr: bytes,
    reader: Reader,
    signals: Iterable[TerminalSignal],
    is_document: IsDocument | None = None,
) -> Iterator[Event]:
    signals = list(signals)
    ends = TerminalSignals(signals, "stdout")
    for start, end, document in _parts(stdout, is_document):
        for line in lines(stdout, "stdout", start, end):
            found = record(line.content)
            if found is None:
                yield line.other()
                continue
            events = events_of_record(reader, found, line.span, ends.meaning(line.content, found))
            if events is None:
                yield line.other(text_at(found, "type"))
            else:
                yield from events
        yield from _of_document(reader, document, "stdout", ends)
    yield from reader.finish()
    ends = TerminalSignals(signals, "stderr")
    for start, end, document in _parts(stderr, is_document):
        yield from (line.other() for line in lines(stderr, "stderr", start, end))
        yield from _of_document(reader, document, "stderr", ends)


def _parts(data: bytes, is_document: IsDocument | None) -> Iterator[tuple[int, int, Document | None]]:
    """What stands between documents, each with the document that follows."""
    start = 0
    for document in documents(data, is_document) if is_document else ():
        yield start, document.start, document
        start = document.end
    yield start, len(data), None


def _of_document(
    reader: Reader, document: Document | None, stream: Stream, ends: TerminalSignals
) -> Iterable[Event]:
    if document is None:
        return ()
    span = Span(stream, document.start, document.end)
    return events_of_record(reader, document.found, span, ends.meaning(b"", document.found)) or ()


PLAIN = "plain"  # no records: every line is output
_STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")

Events = Callable[[bytes, bytes, Iterable[TerminalSignal]], Iterator[Event]]
Finder = Callable[[bytes], Iterable[str]]  # the sessions that one more line tells


class Parser(NamedTuple):
    session_field: str | None
    events: Events
    reader: Callable[[], Reader] | None = None  # of records; None: the stream is text
    # One of these is in every record that has to do with what is said; None: all do.
    text_markers: tuple[bytes, ...] | None = None
    is_document: IsDocument | None = None  # of objects that may fill several lines; None: there are none
    sessions: Callable[[], Finder] | None = None  # of a stream that is text


def record_parser(
    session_field: str,
    reader: Callable[[], Reader],
    text_markers: tuple[bytes, ...] | None = None,
    is_document: IsDocument | None = None,
) -> Parser:
    def events(stdout: bytes, stderr: bytes, signals: Iterable[TerminalSignal]) -> Iterator[Event]:
        return events_of_records(stdout, stderr, reader(), signals, is_document)

    return Parser(session_field, events, reader, text_markers, is_document)


def _plain(stdout: bytes, stderr: bytes, _: Iterable[TerminalSignal]) -> Iterator[Event]:
    for data, stream in zip((stdout, stderr), _STREAMS, strict=True):
        yield from (line.other() for line in lines(data, stream))


@cache
def parser_names() -> tuple[str, ...]:
    """Every agent with a stream of its own has a module of its name, with `PARSER`, beside its definition."""
    files = {file.name for file in Path(__file__).parent.iterdir()}
    stems = (name.removesuffix(".toml") for name in files if name.endswith(".toml"))
    return (*sorted(stem for stem in stems if f"{stem}.py" in files), PLAIN)


@cache
def parser(name: str) -> Parser:
    if name == PLAIN:
        return Parser(None, _plain)
    if name not in parser_names():
        raise BadRequestError(
            f"there is no parser for the stream {name!r}",
            hint=f"the parsers are: {', '.join(parser_names())}",
        )
    found: Parser = import_module(f"steno.agents.{name}").PARSER
    return found


def read(name: str, stdout: bytes, stderr: bytes, signals: Iterable[TerminalSignal] = ()) -> list[Event]:
    return list(parser(name).events(stdout, stderr, signals))


# It becomes a word of a command line: nothing that could be taken for an option, a path or two words.
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}", re.ASCII)
_NOWHERE = Span("stdout", 0, 0)


class Session(Struct, frozen=True, forbid_unknown_fields=True):
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
    if chosen.sessions is not None:
        return chosen.sessions()
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
