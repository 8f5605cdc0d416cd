"""The HTTP/1.1 messages that come over a connection, one after the other: a head, then its body in pieces.

In: a `Link`. Out: heads and pieces of bodies, or h11's error when the bytes are not HTTP. A plain head and
its body are read here; everything else (old versions, odd spellings, requests in chunks, a head that comes in
several pieces) is left to h11, with a reader for each message. Never looks into a body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import h11

from steno.mcp import http_heads
from steno.mcp.http_chunks import Chunks
from steno.mcp.http_heads import END_OF_HEAD, MAX_HEAD, Request, Response
from steno.mcp.http_link import Link

_TORN = "a body without its end"
_Head = TypeVar("_Head", Request, Response)


class Incoming(Generic[_Head]):
    """Of a whole connection. `reader` makes what reads a message that is not plain, `odd` names its head."""

    def __init__(
        self,
        link: Link,
        plain: Callable[[bytes], _Head | None],
        odd: Callable[[Any], _Head],
        reader: Callable[[], h11.Connection],
    ) -> None:
        self._link = link
        self._plain: Callable[[bytes], _Head | None] = plain
        self._odd: Callable[[Any], _Head] = odd
        self._make_reader = reader
        self._held = b""  # came, and belongs to what follows
        self._left = 0  # of a body whose length is known
        self._chunks: Chunks | None = None  # of a body that comes so
        self._http: h11.Connection | None = None  # reads this message, if it is not plain

    @property
    def nothing_is_held(self) -> bool:
        return not self._held

    @property
    def waits_for_100_continue(self) -> bool:
        return self._http is not None and self._http.they_are_waiting_for_100_continue

    async def head(self) -> _Head | None:
        """Of the next message; None at the end."""
        self._held = self._held or await self._link.read()
        if not self._held:
            return None
        end = self._held.find(END_OF_HEAD, 0, MAX_HEAD) + len(END_OF_HEAD)
        plain = self._plain(self._held[:end]) if end >= len(END_OF_HEAD) else None
        if plain is None:
            return await self._odd_head()
        self._held, self._left = self._held[end:], plain.length or 0
        self._chunks = Chunks() if plain.length is None else None
        return plain

    async def piece(self) -> bytes:
        """Of the body; nothing at its end."""
        if self._http is not None:
            return await self._odd_piece(self._http)
        if self._chunks is not None:
            return await self._in_chunks(self._chunks)
        if not self._left:
            return b""
        came = self._held or await self._link.read()
        if not came:
            raise h11.RemoteProtocolError(_TORN)
        piece, self._held = came[: self._left], came[self._left :]
        self._left -= len(piece)
        return piece

    async def _in_chunks(self, chunks: Chunks) -> bytes:
        piece = chunks.feed(self._held)
        self._held = b""
        while not piece and not chunks.has_ended:
            came = await self._link.read()
            if not came:
                raise h11.RemoteProtocolError(_TORN)
            piece = chunks.feed(came)
        if chunks.has_ended and not piece:
            self._held, self._chunks = chunks.rest, None
        return piece

    async def _odd_head(self) -> _Head | None:
        self._http = self._make_reader()
        self._http.receive_data(self._held)
        while isinstance(event := await self._event(self._http), h11.InformationalResponse):
            continue
        return self._odd(event) if isinstance(event, h11.Request | h11.Response) else None

    async def _odd_piece(self, http: h11.Connection) -> bytes:
        event = await self._event(http)
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if not isinstance(event, h11.EndOfMessage):
            raise h11.RemoteProtocolError(_TORN)
        self._held, self._http, self._left = http.trailing_data[0], None, 0
        return b""

    async def _event(self, http: h11.Connection) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(await self._link.read())
        return event


def of_client(link: Link) -> Incoming[Request]:
    return Incoming(
        link,
        http_heads.plain_request,
        http_heads.request_of,
        lambda: h11.Connection(h11.SERVER, MAX_HEAD),
    )


def of_upstream(link: Link) -> Incoming[Response]:
    return Incoming(link, http_heads.plain_response, http_heads.response_of, _reader_of_answers)


def _reader_of_answers() -> h11.Connection:
    """h11 reads an answer only where it has seen the question; ours are never HEAD or CONNECT."""
    http = h11.Connection(h11.CLIENT, MAX_HEAD)
    http.send(h11.Request(method="POST", target="/", headers=[("host", "upstream")]))
    http.send(h11.EndOfMessage())
    return http
