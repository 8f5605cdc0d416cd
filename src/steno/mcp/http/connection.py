"""HTTP/1.1 on both sides of the proxy: h11 over asyncio streams.

Framing is made anew on each side, so what one reader could misread never reaches the next. A body is read
within a bound, and who writes faster than the other end reads has to wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar, cast

import h11

from steno.mcp.http.headers import Endpoint, Headers, has_two_lengths

MAX_HEAD = 64 << 10
MAX_BODY = 128 << 20
WITHOUT_BODY = frozenset({204, 304})
_BUFFERED = 128 << 10  # twice as much is held before the other end has to wait
_CONNECT_SECONDS = 15.0
_FRESH_SECONDS = 3.0  # servers close idle connections after 5 or more, and a request must not meet that
_Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
_Read = TypeVar("_Read")


class BodyTooLargeError(Exception):
    """More than is read of one message."""


class UpstreamError(Exception):
    """The upstream cannot be reached, left before its answer was complete, or its answer cannot be used."""


class Protocol(asyncio.StreamReaderProtocol):
    """Says at once that the other end has left, also while nobody reads. What came before is read."""

    def __init__(self, connected: _Connected | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(_BUFFERED, loop)
        super().__init__(self.reader, connected, loop)
        self.on_disconnect: Callable[[], object] | None = None  # called once
        self._is_disconnected = False
        self.has_unread = False
        self.error: Exception | None = None

    def data_received(self, data: bytes) -> None:
        self.has_unread = True
        super().data_received(data)

    def eof_received(self) -> bool | None:
        """An answer may still be sent, but for TLS, which has no half of a connection."""
        self._disconnected()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc
        self._disconnected()
        super().connection_lost(None)  # with an error, what has come could not be read any more

    def is_disconnected(self) -> bool:
        return self._is_disconnected

    def _disconnected(self) -> None:
        self._is_disconnected = True
        tell, self.on_disconnect = self.on_disconnect, None
        if tell is not None:
            tell()


class _Connection:
    def __init__(self, role: type[h11.CLIENT | h11.SERVER], writer: asyncio.StreamWriter) -> None:
        self._http = h11.Connection(role, MAX_HEAD)
        self._writer = writer
        self._protocol = cast("Protocol", writer.transport.get_protocol())
        self._reader = self._protocol.reader

    async def piece(self) -> bytes:
        """Of the body; nothing at its end."""
        event = await self._event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            return b""
        raise h11.RemoteProtocolError("a body without its end")

    async def body(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while piece := await self.piece():
            size += len(piece)
            if size > MAX_BODY:
                raise BodyTooLargeError
            pieces.append(piece)
        return b"".join(pieces)

    async def drain(self) -> None:
        """Raises ConnectionResetError when nobody can read it."""
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()

    def _send(self, *events: h11.Event) -> None:
        if not self._writer.transport.is_closing():
            self._writer.write(b"".join([self._http.send(event) or b"" for event in events]))

    async def _event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            data = await self._reader.read(MAX_BODY)
            self._protocol.has_unread = False
            if not data and self._protocol.error is not None:
                raise self._protocol.error
            is_between = self._http.their_state in {h11.IDLE, h11.SEND_RESPONSE}
            if not data and is_between and not self._http.trailing_data[0]:
                return h11.ConnectionClosed()
            self._http.receive_data(data)
        return event

    def _may_go_on(self) -> bool:
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE


class Client(_Connection):
    """One client's connection: its requests in order, and answers to them."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        super().__init__(h11.SERVER, writer)
        self._is_head = False

    async def request(self) -> h11.Request | None:
        """The head of the next request; None at the end. Raises h11.RemoteProtocolError."""
        event = await self._event()
        if not isinstance(event, h11.Request):
            return None
        if has_two_lengths([*event.headers]):
            raise h11.RemoteProtocolError("a body has one length")
        self._is_head = event.method == b"HEAD"
        return event

    async def body(self) -> bytes:
        if self._http.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[]))
        return await super().body()

    async def answer(self, status: int, headers: Headers, body: bytes = b"", *, last: bool = False) -> None:
        length = [] if status in WITHOUT_BODY else [(b"content-length", b"%d" % len(body))]
        close = [(b"connection", b"close")] if last else []
        response = h11.Response(status_code=status, headers=[*headers, *length, *close])
        data = [h11.Data(data=body)] if length and not self._is_head else []
        self._send(response, *data, h11.EndOfMessage())
        await self.drain()

    def start(self, status: int, headers: Headers) -> None:
        """Of an answer whose length is not known; for a client without chunks it ends with the connection."""
        self._send(h11.Response(status_code=status, headers=headers))

    async def pass_on(self, piece: bytes) -> None:
        if piece:
            self._send(h11.Data(data=piece))
            await self.drain()

    async def finish(self) -> None:
        self._send(h11.EndOfMessage())
        await self.drain()

    @contextlib.contextmanager
    def cancel_on_disconnect(self) -> Iterator[None]:
        """What is done here is cancelled when the client leaves; then it raises ConnectionResetError."""
        task = asyncio.current_task()
        if task is None or self._protocol.is_disconnected():
            raise ConnectionResetError
        cancelling = task.cancelling()
        self._protocol.on_disconnect = task.cancel
        try:
            yield
        except asyncio.CancelledError:
            if not self._protocol.is_disconnected() or task.uncancel() > cancelling:
                raise
            raise ConnectionResetError from None
        finally:
            self._protocol.on_disconnect = None

    def may_answer(self) -> bool:
        """An answer has not been begun."""
        return self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}

    def next(self) -> bool:
        """Whether another request may follow."""
        if self._may_go_on():
            self._http.start_next_cycle()
            return True
        return False


class Upstream:
    """Towards the upstream, for one client's connection: one request at a time, and none is sent twice, as
    whether the first one had an effect cannot be known."""

    def __init__(self, endpoint: Endpoint, tls: ssl.SSLContext | None) -> None:
        self._endpoint = endpoint
        self._tls = tls
        self._connection: _ToUpstream | None = None
        self._used_at = 0.0

    async def ask(
        self, method: bytes, headers: Headers, body: bytes, on_send: Callable[[], None] | None = None
    ) -> h11.Response:
        """The head of the answer; `on_send` is called when somebody is there to hear."""
        self._connection = connection = await self._connect()
        if on_send is not None:
            on_send()
        length = [(b"content-length", b"%d" % len(body))] if method == b"POST" else []
        own = [(b"host", self._endpoint.authority), (b"accept-encoding", b"identity"), *length]
        target = self._endpoint.target.encode("ascii")
        return await _read(
            connection.ask(h11.Request(method=method, target=target, headers=own + headers), body)
        )

    async def piece(self) -> bytes:
        """Of the answer's body; nothing at its end."""
        return await _read(self._connected().piece())

    async def whole(self) -> bytes:
        return await _read(self._connected().body())

    def answered(self) -> None:
        """The answer was read. The connection is kept, if it can be."""
        self._used_at = time.monotonic()
        if self._connection is not None and not self._connection.is_usable():
            self.leave()

    def leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> _ToUpstream:
        if self._connection is None:
            raise UpstreamError("not connected")
        return self._connection

    async def _connect(self) -> _ToUpstream:
        fresh = time.monotonic() - self._used_at < _FRESH_SECONDS
        if self._connection is not None and fresh and self._connection.is_usable():
            return self._connection
        self.leave()
        return await _ToUpstream.open(self._endpoint, self._tls)


class _ToUpstream(_Connection):
    @staticmethod
    async def open(endpoint: Endpoint, tls: ssl.SSLContext | None) -> _ToUpstream:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                transport, protocol = await loop.create_connection(
                    Protocol, endpoint.host, endpoint.port, ssl=tls
                )
        except TimeoutError:
            raise UpstreamError("no connection in time") from None
        except OSError as error:
            # Of these asyncio tells its own words and the address, in place of the system's words.
            is_refusal = isinstance(error, ConnectionError) and error.errno is not None
            why = os.strerror(error.errno or 0) if is_refusal else error.strerror
            raise UpstreamError(why or str(error)) from None
        writer = asyncio.StreamWriter(transport, protocol, protocol.reader, loop)
        return _ToUpstream(h11.CLIENT, writer)

    async def ask(self, request: h11.Request, body: bytes) -> h11.Response:
        """That the body is sent is not waited for: an upstream may answer before it has read all of it."""
        if self._may_go_on():
            self._http.start_next_cycle()
        self._send(request, h11.Data(data=body), h11.EndOfMessage())
        while isinstance(event := await self._event(), h11.InformationalResponse):
            continue
        if not isinstance(event, h11.Response):
            raise UpstreamError("it closed the connection without an answer")
        return event

    def is_usable(self) -> bool:
        """For another request: the last answer was read, and there is nothing that nobody asked for."""
        is_quiet = not self._http.trailing_data[0] and not self._protocol.has_unread
        is_open = not self._protocol.is_disconnected() and not self._writer.transport.is_closing()
        return self._may_go_on() and is_quiet and is_open


async def _read(reading: Awaitable[_Read]) -> _Read:
    try:
        return await reading
    except BodyTooLargeError:
        raise UpstreamError("its answer is too large") from None
    except h11.RemoteProtocolError as error:
        raise UpstreamError(f"it broke off, or does not speak HTTP ({error})") from None
    except OSError as error:
        raise UpstreamError(error.strerror or str(error) or "it broke off") from None
