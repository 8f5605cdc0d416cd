"""What all connections of the proxy share: policy, the endpoint, the sessions, and who can be asked.

In: what the command line named. Out: sessions, answers to questions of policy. The process behind the
endpoint is looked up when the proxy starts, and again when a connection has failed: another one may listen
by then. Never touches a connection itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading

from steno.evidence.claims import ProcessKey
from steno.mcp import approval, http_process
from steno.mcp.approvals import MAX_AT_ONCE
from steno.mcp.http_address import Endpoint
from steno.mcp.http_heads import Headers
from steno.mcp.http_refusals import JSON
from steno.mcp.http_sessions import Sessions
from steno.mcp.http_upstream import Upstream, UpstreamGoneError
from steno.mcp.journal import Journal
from steno.mcp.listings import KnownTools
from steno.mcp.policy import Policy
from steno.mcp.session import Ask, Session
from steno.mcp.stderr import say

SOURCE = "steno.mcp.proxy"


class Gateway:
    def __init__(self, policy: Policy, journal: Journal, endpoint: Endpoint, label: str) -> None:
        self.endpoint = endpoint
        self.sessions = Sessions(self._session)
        self._policy = policy
        self._journal = journal
        self._label = label
        self._tools = KnownTools(policy, label)
        self._failure_said = ""
        self._answering: set[asyncio.Task[None]] = set()
        self._tls = endpoint.tls()
        self._questions = 0  # that somebody thinks about, also those whose client has left
        self._process: ProcessKey | None = None
        self._process_is_known = False

    def upstream(self) -> Upstream:
        return Upstream(self.endpoint, self._tls)

    def upstream_failed(self, session: Session | None, why: str) -> None:
        """When its process is gone, so is the session; another process may listen by the next one."""
        if why != self._failure_said:  # a client that tries again and again is told each time, stderr once
            say(f"{self.endpoint.host}:{self.endpoint.port}: {why}")
            self._failure_said = why
        process = self._process
        if process is None or not http_process.runs(process):
            self._process_is_known = False
            if process is not None:
                self._policy.forget_listings(self._label)
            if session is not None and process is not None:
                self.sessions.end_without_server(session)

    def upstream_works(self) -> None:
        self._failure_said = ""

    def answer_upstream(self, headers: Headers, answers: list[bytes]) -> None:
        """In the client's place, on a connection of its own: the client's is busy with what is answered."""
        if answers:
            task = asyncio.create_task(self._answer_upstream(headers, answers))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer_upstream(self, headers: Headers, answers: list[bytes]) -> None:
        upstream = self.upstream()
        passed = [(name, value) for name, value in headers if name not in {b"content-type", b"last-event-id"}]
        with contextlib.suppress(UpstreamGoneError):
            for answer in answers:
                await upstream.ask(b"POST", [*passed, *JSON], answer)
                await upstream.whole()
                upstream.answered()
        upstream.leave()

    async def approved(self, ask: Ask) -> bool:
        """Asked in a thread that does not keep the proxy from ending. Too many at once: no."""
        if self._questions >= MAX_AT_ONCE:
            return False
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def settle(said: bool) -> None:
            self._questions -= 1
            if not answer.done():
                answer.set_result(said)

        def think() -> None:
            said = approval.ask(
                self._policy.approval or [], ask.call, ask.ruling, self._policy.approval_seconds
            )
            with contextlib.suppress(RuntimeError):  # the proxy has ended
                loop.call_soon_threadsafe(settle, said)

        self._questions += 1
        threading.Thread(target=think, name="approval", daemon=True).start()
        return await answer

    def _session(self) -> Session:
        return Session(
            self._policy,
            self._journal,
            label=self._label,
            source=SOURCE,
            connection=secrets.token_hex(8),
            server_process=self.server_process(),
            tools=self._tools,
        )

    def server_process(self) -> ProcessKey | None:
        if not self._process_is_known:
            self._process = http_process.listener(self.endpoint.host, self.endpoint.port)
            self._process_is_known = True
        return self._process
