"""One HTTP request of a client: ruled on, passed to the upstream, and its answer passed back.

In: a request that was not turned away at the door. Out: bytes to both sides, the same that came, unless
policy says otherwise. An answer is one JSON message or a stream of them; each is shown to the session
before the client has it. An answer that leads around the proxy, or that cannot be read here, is not passed
on. Never sends a request twice.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from steno.mcp import http_headers, http_refusals
from steno.mcp.frames import Frame, classify
from steno.mcp.http_headers import SESSION, Message
from steno.mcp.http_heads import WITHOUT_BODY, Headers, Response
from steno.mcp.http_refusals import JSON
from steno.mcp.http_upstream import UpstreamGoneError
from steno.mcp.open_requests import Ticket
from steno.mcp.server_frames import delicate_keys
from steno.mcp.session import Answer, Ask, Forward, Session
from steno.mcp.sse import EventRelay, EventTooLongError

if TYPE_CHECKING:
    from steno.mcp.http_client import ClientConnection

HEADER_MISMATCH = -32020
INTERNAL_ERROR = -32603
_LARGE = 1 << 20  # others need not wait while such a message is read
_NO_MESSAGE = Frame("blank")
_BEFORE_JSON, _BEGINS_JSON = b"\xef\xbb\xbf \t\r\n\0\xfe\xff", (b"{", b"[")
_EVENTS = b"text/event-stream"
_OK, _NOT_FOUND = range(200, 300), 404
_REDIRECTS = range(300, 400)


class Exchange:
    def __init__(self, client: ClientConnection, method: bytes, headers: Headers) -> None:
        self._client = client
        self._method = method
        self._headers = headers  # those that pass
        self._frame = _NO_MESSAGE
        name = http_headers.value_of(self._headers, SESSION)
        self._session_name = None if http_headers.is_current(self._headers) else name
        self._session_found: Session | None = None
        self._events: EventRelay | None = None
        self._asked: Ticket | None = None  # our request in the session; its id may be used again

    async def run(self, body: bytes) -> None:
        try:
            if self._method == b"POST":
                await self._post(body)
            else:
                await self._forward(Forward(b""))
        except (asyncio.CancelledError, ConnectionError):
            self._client.upstream.leave()
            if not self._may_resume():
                self._lost("client_gone")
            raise

    # --- to the upstream -------------------------------------------------------------------------------

    async def _post(self, body: bytes) -> None:
        self._frame = classify(body) if len(body) < _LARGE else await asyncio.to_thread(classify, body)
        ruled = self._ruled(body)
        if isinstance(ruled, Forward | Ask) and self._frame.kind == "request":
            self._asked = self._session().ticket(self._frame.id)
        if isinstance(ruled, Ask):
            ruled = ruled.then(await self._client.gateway.approved(ruled))
        if isinstance(ruled, Forward):
            await self._forward(ruled)
            return
        if ruled.data is None:
            await self._client.link.answer(400, [])
        else:
            status = http_refusals.status_of(ruled.data, self._headers)
            await self._client.link.answer(status, JSON, ruled.data)

    def _ruled(self, body: bytes) -> Forward | Answer | Ask:
        frame = self._frame
        if frame.kind == "blank":
            return Answer(
                http_refusals.error(http_refusals.INVALID_REQUEST, "there is no message in the body")
            )
        if frame.kind != "refused":
            message = Message(frame.method, frame.params, wants_answer=frame.kind == "request")
            if (why := http_headers.mismatch(self._headers, message)) is not None:
                return self._session().refuse(frame, reason="header_mismatch", code=HEADER_MISMATCH, says=why)
        return self._session().from_client(body, frame)

    async def _forward(self, message: Forward) -> None:
        def on_send() -> None:
            if message.call is not None:
                self._session().given(message.call)

        try:
            answer = await self._client.upstream.ask(self._method, self._headers, message.data, on_send)
            await self._relay(answer)
        except UpstreamGoneError as error:
            self._client.upstream.leave()
            why = f"the upstream server gives no answer: {error}"
            said = self._lost("server_gone", why) or http_refusals.error(INTERNAL_ERROR, f"steno: {why}")
            self._client.gateway.upstream_failed(self._session_found, why)
            await self._client.link.answer(502, JSON, said)
        else:
            self._client.upstream.answered()
            self._client.gateway.upstream_works()

    # --- to the client ---------------------------------------------------------------------------------

    async def _relay(self, answer: Response) -> None:
        headers = http_headers.to_client(answer.headers)
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
        body = await self._client.upstream.whole()
        may_be_message = body.lstrip(_BEFORE_JSON)[:1] in _BEGINS_JSON or delicate_keys(body)
        shown = self._shown(body) if may_be_message else body
        # If that was no answer to the request, there is none.
        lost = self._lost("protocol_error", "the upstream server gave another answer")
        if body and not shown:
            says = "steno: the upstream answered what was not asked"
            status, headers = 502, JSON
            shown = lost or http_refusals.error(INTERNAL_ERROR, says)
        await self._client.link.answer(status, headers, shown)

    def _check(self, status: int, headers: Headers) -> None:
        if status in _REDIRECTS and http_headers.value_of(headers, b"location") is not None:
            raise UpstreamGoneError("it redirects; give the URL to which it does as --upstream")
        if not http_headers.is_plain(headers):
            raise UpstreamGoneError("its answer is coded, though it was asked not to be")
        if (name := http_headers.ambiguous(headers)) is not None:
            raise UpstreamGoneError(f"its header {name} can be read in two ways")
        kind, parameters = http_headers.media_type(headers)
        if kind != _EVENTS and _EVENTS in kind + parameters:
            raise UpstreamGoneError("its header content-type can be read in two ways")

    def _take_name(self, status: int, headers: Headers) -> None:
        """With its answer to `initialize` a legacy server may name the session."""
        given = http_headers.value_of(headers, SESSION)
        is_handshake = self._frame.method == "initialize" and not http_headers.is_current(self._headers)
        if given is not None and is_handshake and self._session_name is None and status in _OK:
            self._session_name = given
            self._client.give_name(given)

    def _end_session(self, status: int) -> None:
        """The client ended it, or the server does not know it any more."""
        ended = status == _NOT_FOUND or (self._method == b"DELETE" and status in _OK)
        if ended and self._session_name is not None:
            self._client.gateway.sessions.end_named(self._session_name)

    async def _relay_events(self, status: int, headers: Headers) -> None:
        link = self._client.link
        self._events = relay = EventRelay(self._shown)
        link.start(status, headers)
        torn = ""
        try:
            while piece := await self._client.upstream.piece():
                await link.pass_on(relay.feed(piece))
            await link.pass_on(relay.end())
        except (UpstreamGoneError, EventTooLongError) as error:
            self._client.upstream.leave()
            torn = f"the upstream server gave half an answer: {error}"
        if torn and self._may_resume():
            raise ConnectionResetError  # the client sees what we saw, and asks for the rest
        if not self._may_resume() and (said := self._lost("server_gone", torn or None)) is not None:
            await link.pass_on(b"event: message\ndata: " + said.strip() + b"\n\n")
        if torn:
            self._client.gateway.upstream_failed(self._session_found, torn)
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
        self._client.gateway.answer_upstream(self._headers, session.for_server())
        return shown

    def _session(self) -> Session:
        if self._session_found is None:
            if self._session_name is None:
                self._session_found = self._client.own_session()
            else:
                self._session_found = self._client.gateway.sessions.named(self._session_name)
        return self._session_found
