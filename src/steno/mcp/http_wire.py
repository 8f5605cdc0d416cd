"""HTTP/1.1 towards a client: its requests in order, and answers to them.

In: the connection. Out: requests; answers, written here. A body is read whole and within a bound; what a
client sends ahead of its turn waits. Framing is made anew on each side of the proxy, so what one reader could
misread never reaches the next. Never looks into a body.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import h11

from steno.mcp import http_heads, http_incoming
from steno.mcp.http_headers import value_of
from steno.mcp.http_heads import WITHOUT_BODY, Headers, Request
from steno.mcp.http_link import Link

MAX_BODY = 128 << 20
_GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"


class BodyTooLargeError(Exception):
    """More than is read of one message."""


class ClientLink:
    """One client's connection."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._incoming = http_incoming.of_client(link)
        self._request: Request | None = None
        self._answered = False  # or the answer was begun
        self._is_last = False
        self._in_chunks = False
        self._late: list[bytes] = []

    async def request(self) -> Request | None:
        """The head of the next request; None at the end. Raises h11.RemoteProtocolError."""
        self._answered = self._in_chunks = False
        self._request = request = await self._incoming.head()
        if request is not None:
            self._is_last = not request.keeps_open
            if request.length is None and _has_two_lengths(request):
                raise h11.RemoteProtocolError("a body has one length")
        return request

    async def body(self) -> bytes:
        if self._incoming.waits_for_100_continue:
            await self._link.write(_GO_ON)
        pieces: list[bytes] = []
        size = 0
        while piece := await self._incoming.piece():
            size += len(piece)
            if size > MAX_BODY:
                raise BodyTooLargeError
            pieces.append(piece)
        return b"".join(pieces)

    async def answer(self, status: int, headers: Headers, body: bytes = b"", *, last: bool = False) -> None:
        self._is_last |= last
        has_body = self._request is None or self._request.method != b"HEAD"
        length = [] if status in WITHOUT_BODY else [(b"content-length", b"%d" % len(body))]
        head = self._head(status, [*headers, *length])
        await self._link.write(head + body if has_body and length else head)

    def start(self, status: int, headers: Headers) -> None:
        """Of an answer whose length is not known; without chunks it ends with the connection."""
        self._in_chunks = self._request is not None and self._request.takes_chunks
        chunked = [(b"transfer-encoding", b"chunked")] if self._in_chunks else []
        self._is_last |= not self._in_chunks
        self._send_soon(self._head(status, [*headers, *chunked]))

    async def pass_on(self, piece: bytes) -> None:
        if piece:
            self._send_soon(b"%x\r\n%s\r\n" % (len(piece), piece) if self._in_chunks else piece)
            await self._link.drained()

    async def finish(self) -> None:
        self._late += [b"0\r\n\r\n"] if self._in_chunks else []
        self._send_late()
        await self._link.drained()

    def _send_soon(self, data: bytes) -> None:
        """With what else is said before there is something to wait for: a write costs more than a call."""
        if not self._late:
            asyncio.get_running_loop().call_soon(self._send_late)
        self._late.append(data)

    def _send_late(self) -> None:
        late, self._late = self._late, []
        if late:
            self._link.send(b"".join(late))

    def _head(self, status: int, headers: Headers) -> bytes:
        self._answered = True
        close = [(b"connection", b"close")] if self._is_last else []
        return http_heads.written(b"HTTP/1.1 %d \r\n" % status, [*headers, *close])

    @contextlib.contextmanager
    def while_client_waits(self) -> Iterator[None]:
        """What is done here is cancelled when the client leaves; then it raises ConnectionResetError."""
        task = asyncio.current_task()
        if task is None or self._link.is_left():
            raise ConnectionResetError
        left = task.cancelling()
        self._link.when_gone = task.cancel
        try:
            yield
        except asyncio.CancelledError:
            if not self._link.is_left() or task.uncancel() > left:
                raise
            raise ConnectionResetError from None
        finally:
            self._link.when_gone = None

    def may_answer(self) -> bool:
        """An answer has not been begun."""
        return not self._answered

    def next(self) -> bool:
        """Another request may follow."""
        return not self._is_last

    def close(self) -> None:
        self._send_late()
        self._link.close()


def _has_two_lengths(request: Request) -> bool:
    return (
        value_of(request.headers, b"content-length") is not None
        and value_of(request.headers, b"transfer-encoding") is not None
    )
