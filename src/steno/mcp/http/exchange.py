"""One client's connection: each request is ruled on and passed on, and its answer passed back.

The same bytes that came pass, unless policy says otherwise. An answer is one JSON message or a stream of
them; each is shown to the session before the client has it. An answer that leads around the proxy, or that
cannot be read here, is not passed on. Each client's connection has one of its own to the upstream: a client
that leaves is left.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Literal

import h11

from steno.mcp import protocol
from steno.mcp.http import headers as http_headers
from steno.mcp.http.connection import WITHOUT_BODY, BodyTooLargeError, Client, UpstreamError
from steno.mcp.http.headers import JSON, SESSION, Headers, Refusal
from steno.mcp.http.sse import EventRelay, EventTooLongError
from steno.mcp.messages import ClientMessage, classify, policy_keys
from steno.mcp.pending_requests import PendingRequest
from steno.mcp.protocol import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_REQUEST
from steno.mcp.session import Answer, ApprovalRequest, Forward, Session

if TYPE_CHECKING:
    from steno.mcp.http.proxy import Proxy

_LARGE = 1 << 20  # others need not wait while such a message is read
_NO_MESSAGE = ClientMessage("blank")
_BEFORE_JSON, _BEGINS_JSON = b"\xef\xbb\xbf \t\r\n\0\xfe\xff", (b"{", b"[")
_EVENTS = b"text/event-stream"
_OK, _NOT_FOUND = range(200, 300), 404
_REDIRECTS = range(300, 400)


class ClientConnection:
    def __init__(self, proxy: Proxy, client: Client) -> None:
        self.proxy = proxy
        self.client = client
        self.upstream = proxy.upstream()
        self._own: Session | None = None

    async def serve(self) -> None:
        """Until the client leaves, or sends what is not HTTP."""
        try:
            while (request := await self.client.request()) is not None:
                await self._turn(request)
                if not self.client.next():
                    break
        except h11.RemoteProtocolError as error:
            with contextlib.suppress(OSError):
                await self._refuse(error.error_status_hint, "this is not HTTP as it must be written")
        except OSError:
            pass  # the client left
        finally:
            self.upstream.leave()
            self.end_own_session()
            self.client.close()

    def own_session(self) -> Session:
        """Of the requests here that name no session."""
        if self._own is None or not self.proxy.sessions.is_open(self._own):
            self._own = self.proxy.sessions.new()
        return self._own

    def bind_session_id(self, name: bytes) -> None:
        """What was said here so far belongs to a session that the server has named."""
        if self._own is not None:
            self.proxy.sessions.bind(name, self._own)
            self._own = None

    def end_own_session(self) -> None:
        if self._own is not None:
            self.proxy.sessions.end(self._own)
            self._own = None

    async def _turn(self, request: h11.Request) -> None:
        headers = [*request.headers]
        if (refusal := http_headers.sender_refusal(headers)) is not None:  # whose body is never read
            await self.client.answer(refusal.status, refusal.headers, refusal.body, last=True)
            return
        try:
            body = await self.client.body()
        except BodyTooLargeError:
            await self._refuse(413, "the body is too large")
            return
        passed = http_headers.to_upstream(headers)
        path = self.proxy.endpoint.path
        if (refusal := http_headers.request_refusal(request, passed, body, path)) is not None:
            await self.client.answer(refusal.status, refusal.headers, refusal.body)
        else:
            with self.client.cancel_on_disconnect():
                await _Exchange(self, request.method, passed).run(body)

    async def _refuse(self, status: int, why: str) -> None:
        if self.client.may_answer():
            refusal = Refusal(status, why)
            await self.client.answer(status, refusal.headers, refusal.body, last=True)


class _Exchange:
    def __init__(self, connection: ClientConnection, method: bytes, headers: Headers) -> None:
        self._connection = connection
        self._method = method
        self._headers = headers  # those that pass
        self._message = _NO_MESSAGE
        name = http_headers.value_of(self._headers, SESSION)
        self._session_name = None if http_headers.is_current(self._headers) else name
        self._session_found: Session | None = None
        self._events: EventRelay | None = None
        self._asked: PendingRequest | None = None

    async def run(self, body: bytes) -> None:
        try:
            if self._method == b"POST":
                await self._post(body)
            else:
                await self._forward(Forward(b""))
        except (asyncio.CancelledError, ConnectionError):
            self._connection.upstream.leave()
            if not self._may_resume():
                self._lost("client_gone")
            raise

    # --- to the upstream -------------------------------------------------------------------------------

    async def _post(self, body: bytes) -> None:
        self._message = classify(body) if len(body) < _LARGE else await asyncio.to_thread(classify, body)
        ruled = self._ruled(body)
        if isinstance(ruled, Forward | ApprovalRequest) and self._message.kind == "request":
            self._asked = self._session().pending(self._message.id)
        if isinstance(ruled, ApprovalRequest):
            ruled = ruled.then(await self._connection.proxy.approved(ruled))
        if isinstance(ruled, Forward):
            await self._forward(ruled)
            return
        if ruled.data is None:
            await self._connection.client.answer(400, [])
        else:
            status = http_headers.status_of(ruled.code, self._headers)
            await self._connection.client.answer(status, JSON, ruled.data)

    def _ruled(self, body: bytes) -> Forward | Answer | ApprovalRequest:
        message = self._message
        if message.kind == "blank":
            error = protocol.error(None, INVALID_REQUEST, "there is no message in the body")
            return Answer(error, INVALID_REQUEST)
        why = None if message.kind == "refused" else http_headers.mismatch(self._headers, message)
        if why is not None:
            return self._session().refuse(message, "header_mismatch", HEADER_MISMATCH, why)
        return self._session().from_client(body, message)

    async def _forward(self, message: Forward) -> None:
        def on_send() -> None:
            if message.call is not None:
                self._session().given(message.call)

        try:
            answer = await self._connection.upstream.ask(self._method, self._headers, message.data, on_send)
            await self._relay(answer)
        except UpstreamError as error:
            self._connection.upstream.leave()
            why = f"the upstream server gives no answer: {error}"
            said = self._lost("server_gone", why) or protocol.error(None, INTERNAL_ERROR, why)
            self._connection.proxy.upstream_failed(self._session_found, why)
            await self._connection.client.answer(502, JSON, said)
        else:
            self._connection.upstream.answered()
            self._connection.proxy.upstream_works()

    # --- to the client ---------------------------------------------------------------------------------

    async def _relay(self, answer: h11.Response) -> None:
        headers = http_headers.to_client([*answer.headers])
        self._check(answer.status_code, headers)
        self._take_name(answer.status_code, headers)
        kind, _ = http_headers.media_type(headers)
        if kind == _EVENTS and answer.status_code not in WITHOUT_BODY:
            await self._relay_events(answer.status_code, headers)
        else:
            await self._relay_whole(answer.status_code, headers)
        self._end_session(answer.status_code)

    async def _relay_whole(self, status: int, headers: Headers) -> None:
        """Whatever it is labelled: clients read what they want to read."""
        body = await self._connection.upstream.whole()
        may_be_message = body.lstrip(_BEFORE_JSON)[:1] in _BEGINS_JSON or policy_keys(body)
        shown = self._shown(body) if may_be_message else body
        # If that was no answer to the request, there is none.
        lost = self._lost("protocol_error", "the upstream server gave another answer")
        if body and not shown:
            why = "the upstream answered what was not asked"
            status, headers = 502, JSON
            shown = lost or protocol.error(None, INTERNAL_ERROR, why)
        await self._connection.client.answer(status, headers, shown)

    def _check(self, status: int, headers: Headers) -> None:
        if status in _REDIRECTS and http_headers.value_of(headers, b"location") is not None:
            raise UpstreamError("it redirects; give the URL to which it does as --upstream")
        if not http_headers.is_plain(headers):
            raise UpstreamError("its answer is coded, though it was asked not to be")
        if (name := http_headers.ambiguous(headers)) is not None:
            raise UpstreamError(f"its header {name} can be read in two ways")
        kind, parameters = http_headers.media_type(headers)
        if kind != _EVENTS and _EVENTS in kind + parameters:
            raise UpstreamError("its header content-type can be read in two ways")

    def _take_name(self, status: int, headers: Headers) -> None:
        """With its answer to `initialize` a legacy server may name the session."""
        given = http_headers.value_of(headers, SESSION)
        is_handshake = self._message.method == protocol.INITIALIZE and not http_headers.is_current(
            self._headers
        )
        if given is not None and is_handshake and self._session_name is None and status in _OK:
            self._session_name = given
            self._connection.bind_session_id(given)

    def _end_session(self, status: int) -> None:
        """The client ended it, or the server does not know it any more."""
        ended = status == _NOT_FOUND or (self._method == b"DELETE" and status in _OK)
        if ended and self._session_name is not None:
            self._connection.proxy.sessions.end_named(self._session_name)

    async def _relay_events(self, status: int, headers: Headers) -> None:
        link = self._connection.client
        self._events = relay = EventRelay(self._shown)
        link.start(status, headers)
        torn = ""
        try:
            while piece := await self._connection.upstream.piece():
                await link.pass_on(relay.feed(piece))
            await link.pass_on(relay.end())
        except (UpstreamError, EventTooLongError) as error:
            self._connection.upstream.leave()
            torn = f"the upstream server gave half an answer: {error}"
        if torn and self._may_resume():
            raise ConnectionResetError  # the client sees what we saw, and asks for the rest
        if not self._may_resume() and (said := self._lost("server_gone", torn or None)) is not None:
            await link.pass_on(b"event: message\ndata: " + said.strip() + b"\n\n")
        if torn:
            self._connection.proxy.upstream_failed(self._session_found, torn)
        await link.finish()

    def _may_resume(self) -> bool:
        """The rest of the stream may come later, on another connection of the same session."""
        return self._events is not None and self._events.resumable and self._session_name is not None

    def _lost(
        self, outcome: Literal["server_gone", "client_gone", "protocol_error"], why: str | None = None
    ) -> bytes | None:
        """The request gets no answer any more. None: it had one, or needs none."""
        return None if self._asked is None else self._session().lost(self._asked, outcome, why)

    def _shown(self, data: bytes) -> bytes:
        """What the client shall read."""
        session = self._session()
        shown = session.from_server(data, self._asked)
        self._connection.proxy.answer_upstream(self._headers, session.for_server())
        return shown

    def _session(self) -> Session:
        if self._session_found is None:
            if self._session_name is None:
                self._session_found = self._connection.own_session()
            else:
                self._session_found = self._connection.proxy.sessions.named(self._session_name)
        return self._session_found
