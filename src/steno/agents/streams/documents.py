"""JSON documents in a stream: objects that may fill many lines, as `gemini -o json` writes its answer.

In: the bytes of a stream, and which objects are such documents. Out: each with its place, or the stream
without them. A document begins a line, and one that fills several begins with a brace on a line of its own.
Never looks into a stream that is longer than a record may be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from steno.agents.streams.lines import MAX_RECORD, Record, record, record_at

IsDocument = Callable[[Record], bool]
_BEGIN = re.compile(rb"^[ \t]*(?P<brace>\{)(?P<rest>[^\n]*)", re.MULTILINE)
_MOST_ATTEMPTS = 16  # each reads to the end at worst


class Document(NamedTuple):
    start: int
    end: int
    found: Record


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

    def __init__(self, is_document: IsDocument, session: Callable[[Record], str]) -> None:
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
