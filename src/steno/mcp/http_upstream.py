"""HTTP/1.1 towards the upstream, for one client's connection: one request at a time.

In: the endpoint, and requests. Out: answers, or `UpstreamGoneError`. A connection is used again while it is
fresh, and nothing came over it that was not asked for. A request is never sent twice: whether the first one
had an effect cannot be known. Never follows a redirect.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import h11

from steno.mcp import http_heads, http_incoming
from steno.mcp.http_address import Endpoint
from steno.mcp.http_heads import Headers, Response
from steno.mcp.http_link import Link
from steno.mcp.http_wire import MAX_BODY

_CONNECT_SECONDS = 15.0
_FRESH_SECONDS = 3.0  # servers close idle connections after 5 or more, and a request must not meet that
_Read = TypeVar("_Read")


class UpstreamGoneError(Exception):
    """The upstream cannot be reached, left before its answer was complete, or its answer cannot be used."""


class Upstream:
    def __init__(self, endpoint: Endpoint, tls: ssl.SSLContext | None) -> None:
        self._endpoint = endpoint
        self._tls = tls
        self._connection: _Connection | None = None
        self._used_at = 0.0
        target, host = endpoint.target.encode("ascii"), endpoint.authority
        self._head = b" %s HTTP/1.1\r\nhost: %s\r\naccept-encoding: identity\r\n" % (target, host)

    async def ask(
        self, method: bytes, headers: Headers, body: bytes, on_send: Callable[[], None] | None = None
    ) -> Response:
        """The head of the answer; `on_send` is called when somebody is there to hear."""
        connection = await self._connect()
        if on_send is not None:
            on_send()
        length = b"content-length: %d\r\n" % len(body) if method == b"POST" else b""
        return await connection.ask(http_heads.written(method + self._head + length, headers) + body)

    async def piece(self) -> bytes:
        """Of the answer's body; nothing at its end."""
        if self._connection is None:
            raise UpstreamGoneError("not connected")
        return await self._connection.piece()

    async def whole(self) -> bytes:
        found: list[bytes] = []
        size = 0
        while piece := await self.piece():
            size += len(piece)
            if size > MAX_BODY:
                raise UpstreamGoneError("its answer is too large")
            found.append(piece)
        return b"".join(found)

    def answered(self) -> None:
        """The answer was read. The connection is kept, if it can be."""
        self._used_at = time.monotonic()
        if self._connection is not None and not self._connection.may_be_used():
            self.leave()

    def leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _connect(self) -> _Connection:
        fresh = time.monotonic() - self._used_at < _FRESH_SECONDS
        if self._connection is not None and not (fresh and self._connection.may_be_used()):
            self.leave()
        if self._connection is None:
            self._connection = await _Connection.open(self._endpoint, self._tls)
        return self._connection


class _Connection:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._incoming = http_incoming.of_upstream(link)
        self._keeps_open = self._will_keep_open = True

    @staticmethod
    async def open(endpoint: Endpoint, tls: ssl.SSLContext | None) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, link = await loop.create_connection(Link, endpoint.host, endpoint.port, ssl=tls)
        except TimeoutError:
            raise UpstreamGoneError("no connection in time") from None
        except OSError as error:
            # Of these asyncio tells its own words and the address, in place of the system's words.
            is_refusal = isinstance(error, ConnectionError) and error.errno is not None
            says = os.strerror(error.errno or 0) if is_refusal else error.strerror
            raise UpstreamGoneError(says or str(error)) from None
        return _Connection(link)

    async def ask(self, request: bytes) -> Response:
        """That the body is sent is not waited for: an upstream may answer before it has read all of it."""
        self._keeps_open = False  # until the answer was read
        answer = await self._read(self._incoming.head, request)
        if answer is None:
            raise UpstreamGoneError("it closed the connection without an answer")
        self._will_keep_open = answer.keeps_open
        return answer

    async def piece(self) -> bytes:
        piece = await self._read(self._incoming.piece)
        if not piece:
            self._keeps_open = self._will_keep_open
        return piece

    async def _read(self, read: Callable[[], Awaitable[_Read]], request: bytes = b"") -> _Read:
        try:
            if request:
                self._link.send(request)
            return await read()
        except h11.RemoteProtocolError as error:
            raise UpstreamGoneError(f"it broke off, or does not speak HTTP ({error})") from None
        except OSError as error:
            raise UpstreamGoneError(error.strerror or str(error) or "it broke off") from None

    def may_be_used(self) -> bool:
        """For another request: the last answer was read, and there is nothing that nobody asked for."""
        return self._keeps_open and self._incoming.nothing_is_held and self._link.is_idle()

    def close(self) -> None:
        self._link.close()
