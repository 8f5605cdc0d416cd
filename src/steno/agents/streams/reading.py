"""Which parser reads which stream, and what all of them share.

In: the name of a parser, the bytes of stdout and stderr, and the agent's terminal signals. Out: the events,
those of stdout first, in the order in which the agent wrote them; every line that is not blank is in one of
them. Never opens a file, never raises for what a stream holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from steno.agents.streams import claude, codex, gemini, iflow, opencode
from steno.agents.streams.documents import IsDocument
from steno.agents.streams.lines import lines
from steno.agents.streams.records import Reader, events_of_records
from steno.agents.streams.said import Event, Stream
from steno.agents.terminal_signal import TerminalSignal
from steno.errors import BadRequestError

_STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")


Events = Callable[[bytes, bytes, Iterable[TerminalSignal]], Iterator[Event]]


class Parser(NamedTuple):
    session_field: str | None
    events: Events
    reader: Callable[[], Reader] | None = None  # of records; None: the stream is text
    speaks: tuple[bytes, ...] | None = (
        None  # one is in every record that has to do with what is said; None: all
    )
    is_document: IsDocument | None = None  # of objects that may fill several lines; None: there are none


def _plain(stdout: bytes, stderr: bytes, _: Iterable[TerminalSignal]) -> Iterator[Event]:
    for data, stream in zip((stdout, stderr), _STREAMS, strict=True):
        yield from (line.other() for line in lines(data, stream))


def _of_records(
    session_field: str,
    reader: Callable[[], Reader],
    speaks: tuple[bytes, ...] | None = None,
    is_document: IsDocument | None = None,
) -> Parser:
    def events(stdout: bytes, stderr: bytes, signals: Iterable[TerminalSignal]) -> Iterator[Event]:
        return events_of_records(stdout, stderr, reader(), signals, is_document)

    return Parser(session_field, events, reader, speaks, is_document)


PARSERS: Mapping[str, Parser] = {
    "codex": _of_records(codex.SESSION_FIELD, codex.Reader, codex.SPEAKS),
    "claude": _of_records(claude.SESSION_FIELD, claude.Reader, claude.SPEAKS),
    "gemini": _of_records(gemini.SESSION_FIELD, gemini.Reader, is_document=gemini.is_document),
    "opencode": _of_records(opencode.SESSION_FIELD, opencode.Reader, opencode.SPEAKS),
    "iflow": Parser(iflow.SESSION_FIELD, iflow.events),
    "plain": Parser(None, _plain),
}


def parser(name: str) -> Parser:
    try:
        return PARSERS[name]
    except KeyError:
        raise BadRequestError(
            f"there is no parser for the stream {name!r}", hint=f"the parsers are: {', '.join(PARSERS)}"
        ) from None


def read(name: str, stdout: bytes, stderr: bytes, signals: Iterable[TerminalSignal] = ()) -> list[Event]:
    return list(parser(name).events(stdout, stderr, signals))
