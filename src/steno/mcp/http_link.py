"""One TCP connection, as both sides of the proxy use it.

In: bytes, when they come. Out: the same bytes, when they are asked for. No more than a bound is held: then
the other end has to wait, and who writes faster than the other end reads waits too. Says at once that the
other end has left, also while nobody reads. Never looks at a byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

AT_ONCE = 256 << 10
_Waiter = asyncio.Future[None]
# Where a socket puts its bytes. asyncio has it filled and taken in one step, so one is enough for all links;
# without it, every read would get a new piece of memory of this size and give most of it back.
_landing = memoryview(bytearray(AT_ONCE))


class Link(asyncio.BufferedProtocol):
    def __init__(self, connected: Callable[[Link], object] | None = None) -> None:
        self.when_gone: Callable[[], object] | None = None  # called once
        self._connected = connected
        self._came: list[bytes] = []
        self._held = 0
        self._reading: _Waiter | None = None
        self._writing: _Waiter | None = None
        self._is_full = False  # the other end does not read what it is sent
        self._is_lost = False
        self._error: Exception | None = None
        self._is_gone = False  # nothing more will come

    async def read(self) -> bytes:
        """What has come; nothing at the end. Raises OSError when the connection broke."""
        while not self._came:
            if self._error is not None:
                raise self._error
            if self._is_gone:
                return b""
            self._reading = asyncio.get_running_loop().create_future()
            await self._reading
        came, self._came = self._came, []
        if self._held > AT_ONCE:
            self._transport.resume_reading()
        self._held = 0
        return came[0] if len(came) == 1 else b"".join(came)

    def send(self, data: bytes) -> None:
        """Without waiting until the other end reads."""
        if not self._is_lost:
            self._transport.write(data)

    async def drained(self) -> None:
        """Not much of what was sent waits any more. Raises ConnectionResetError when nobody can read it."""
        while self._is_full and not self._is_lost:
            self._writing = asyncio.get_running_loop().create_future()
            await self._writing
        if self._is_lost:
            raise ConnectionResetError

    async def write(self, data: bytes) -> None:
        self.send(data)
        await self.drained()

    def is_left(self) -> bool:
        """The other end will send nothing more."""
        return self._is_gone

    def is_idle(self) -> bool:
        """Open, and the other end has said nothing that was not read."""
        return not (self._came or self._is_gone or self._transport.is_closing())

    def close(self) -> None:
        self._transport.close()

    # --- what asyncio tells ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._connected is not None:
            self._connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - it is asyncio that calls
        return _landing

    def buffer_updated(self, nbytes: int) -> None:
        was_small = self._held <= AT_ONCE
        self._came.append(bytes(_landing[:nbytes]))
        self._held += nbytes
        if was_small and self._held > AT_ONCE:
            self._transport.pause_reading()
        _wake(self._reading)

    def eof_received(self) -> bool:
        """An answer may still be sent, but for TLS, which has no half of a connection."""
        self._gone()
        return self._transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost, self._error = True, exc
        self._gone()
        _wake(self._writing)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        _wake(self._writing)

    def _gone(self) -> None:
        self._is_gone = True
        _wake(self._reading)
        tell, self.when_gone = self.when_gone, None
        if tell is not None:
            tell()


def _wake(waiter: _Waiter | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
