"""One client's connection: its requests in order, each answered before the next one is read.

In: connections, and the gateway that all of them share. Out: nothing; it serves until the client
leaves, or sends what is not HTTP. Each client's connection has one of its own to the upstream, so that
neither sees more of the other than it would without us: a client that leaves is left. Never looks into a
body.
"""

from __future__ import annotations

import asyncio
import contextlib

import h11

from steno.mcp import http_refusals
from steno.mcp.http_exchange import Exchange
from steno.mcp.http_gateway import Gateway
from steno.mcp.http_headers import to_upstream
from steno.mcp.http_heads import Request
from steno.mcp.http_link import Link
from steno.mcp.http_refusals import JSON
from steno.mcp.http_wire import BodyTooLargeError, ClientLink
from steno.mcp.session import Session
from steno.mcp.stderr import say

_BACKLOG = 1024


class Clients:
    """Everybody who is connected."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._served: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            lambda: Link(self._connected), host, port, backlog=_BACKLOG
        )

    async def end(self) -> None:
        for task in self._served:
            task.cancel()
        if self._served:
            await asyncio.wait(self._served)

    def _connected(self, link: Link) -> None:
        task = asyncio.create_task(ClientConnection(self._gateway, ClientLink(link)).serve())
        self._served.add(task)
        task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._served.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            say(f"a connection was given up: {error!r}")


class ClientConnection:
    def __init__(self, gateway: Gateway, link: ClientLink) -> None:
        self.gateway = gateway
        self.link = link
        self.upstream = gateway.upstream()
        self._own: Session | None = None

    async def serve(self) -> None:
        try:
            while (request := await self.link.request()) is not None:
                if not await self._turn(request):
                    break
        except h11.RemoteProtocolError as error:
            with contextlib.suppress(OSError):
                await self._refuse(error.error_status_hint, "this is not HTTP as it must be written")
        except OSError:
            pass  # the client left
        finally:
            self.upstream.leave()
            self.end_own_session()
            self.link.close()

    def own_session(self) -> Session:
        """Of the requests here that name no session."""
        if self._own is None or not self.gateway.sessions.is_open(self._own):
            self._own = self.gateway.sessions.new()
        return self._own

    def give_name(self, name: bytes) -> None:
        """What was said here so far belongs to a session that the server has named."""
        if self._own is not None:
            self.gateway.sessions.adopt(name, self._own)
            self._own = None

    def end_own_session(self) -> None:
        if self._own is not None:
            self.gateway.sessions.end(self._own)
            self._own = None

    async def _turn(self, request: Request) -> bool:
        """One request. False: it was the last one on this connection."""
        if (refusal := http_refusals.of_sender(request.headers)) is not None:  # whose body is never read
            await self.link.answer(refusal.status, refusal.headers, refusal.body, last=True)
            return False
        try:
            body = await self.link.body()
        except BodyTooLargeError:
            await self._refuse(413, "the body is too large")
            return False
        passed = to_upstream(request.headers)
        refusal = http_refusals.of_request(request, passed, body, self.gateway.endpoint.path)
        if refusal is not None:
            await self.link.answer(refusal.status, refusal.headers, refusal.body)
        else:
            with self.link.while_client_waits():
                await Exchange(self, request.method, passed).run(body)
        return self.link.next()

    async def _refuse(self, status: int, says: str) -> None:
        if self.link.may_answer():
            body = http_refusals.error(http_refusals.INVALID_REQUEST, says)
            await self.link.answer(status, JSON, body, last=True)
