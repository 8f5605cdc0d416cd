"""Streams that are JSON lines: what every parser of one does with the lines that it does not know.

In: lines of stdout, a reader for one run that makes events of one record, and the terminal signals of the
agent. Out: all events. Whether a record ends a turn, and how, is said by the signals alone; the reader knows
what is told of it. A reader answers None for a record that tells nothing, which then is an `Other` that names
its type; a line that is no record is an `Other` without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from steno.agents.streams.documents import Document, IsDocument, documents
from steno.agents.streams.lines import Record, lines, record, text_at
from steno.agents.streams.said import Event, SessionStarted, Span, Stream
from steno.agents.terminal_signal import Meaning, TerminalSignal, TerminalSignals


class Reader(Protocol):
    def read(self, found: Record, span: Span) -> Iterable[Event] | None: ...

    def ended(self, found: Record, span: Span, *, ok: bool) -> Iterable[Event]:
        """A record that ends a turn."""

    def finish(self) -> Iterable[Event]:
        """What it still holds when the stream ends."""


class Sessions:
    """Tells a session once, in streams that name it in every record."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._known = ""

    def started(self, found: Record, span: Span) -> list[Event]:
        session = text_at(found, self._field)
        if session in {"", self._known}:
            return []
        self._known = session
        return [SessionStarted((span,), session)]


def events_of_record(
    reader: Reader, found: Record, span: Span, meaning: Meaning | None
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
