"""`steno mcp proxy`: stands before one MCP server that speaks streamable HTTP, on loopback only."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import resource
import secrets
import signal
from collections import OrderedDict
from collections.abc import Callable

from steno.capture import procfs
from steno.errors import BadRequestError
from steno.evidence.claims import ProcessKey
from steno.mcp.approval import ApprovalQueue
from steno.mcp.decision_log import DecisionLog, warn
from steno.mcp.http.connection import Client, Protocol, Upstream, UpstreamError
from steno.mcp.http.exchange import ClientConnection
from steno.mcp.http.headers import JSON, Endpoint, Headers, listen_address, upstream_endpoint, url
from steno.mcp.policy.policy import Policy
from steno.mcp.server_filter import KnownTools
from steno.mcp.session import ApprovalRequest, Session

SOURCE = "steno.mcp.proxy"
MOST_NAMED = 4096  # sessions; a client that leaves without a word leaves its session behind
_BACKLOG = 1024


def run(
    policy: Policy, listen: str, upstream: str, label: str, log: DecisionLog, *, as_json: bool = False
) -> int:
    """Until SIGTERM or SIGINT comes. Says where it listens: on stderr, or as JSON on stdout."""
    host, port = listen_address(listen)
    _allow_many_connections()
    proxy = Proxy(policy, log, upstream_endpoint(upstream), label)
    asyncio.run(_serve(proxy, host, port, as_json=as_json))
    return 0


def _allow_many_connections() -> None:
    """A client's connection needs two descriptors, and the usual limit is a thousand."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _serve(proxy: Proxy, host: str, port: int, *, as_json: bool) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        server = await proxy.listen(host, port)
    except OSError as error:
        raise BadRequestError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            hint="port 0 lets the system choose a free one",
        ) from None
    proxy.server_process()
    gc.freeze()  # what was loaded stays; nobody waits while it is looked through again
    _say(url(host, server.sockets[0].getsockname()[1], proxy.endpoint.path), as_json=as_json)
    await stopped.wait()
    server.close()
    await proxy.end()


def _say(url: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"listening": url}), flush=True)
    else:
        warn(f"listening on {url}")


class Proxy:
    """What all connections share: policy, the endpoint, the sessions, and who can be asked.

    The process behind the endpoint is looked up when the proxy starts, and again when a connection has
    failed: another one may listen by then.
    """

    def __init__(self, policy: Policy, log: DecisionLog, endpoint: Endpoint, label: str) -> None:
        self.endpoint = endpoint
        self.sessions = Sessions(self._session)
        self._policy = policy
        self._log = log
        self._label = label
        self._tools = KnownTools(policy, label)
        self._failure_said = ""
        self._answering: set[asyncio.Task[None]] = set()
        self._served: set[asyncio.Task[None]] = set()
        self._tls = endpoint.tls()
        self._approvals = ApprovalQueue(policy.approval)
        self._process: ProcessKey | None = None
        self._process_is_known = False

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            lambda: Protocol(self._connected), host, port, backlog=_BACKLOG
        )

    async def end(self) -> None:
        for task in self._served:
            task.cancel()
        if self._served:
            await asyncio.wait(self._served)
        self.sessions.end_all()

    def _connected(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(ClientConnection(self, Client(writer)).serve())
        self._served.add(task)
        task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._served.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            warn(f"a connection was given up: {error!r}")

    def upstream(self) -> Upstream:
        return Upstream(self.endpoint, self._tls)

    def upstream_failed(self, session: Session | None, why: str) -> None:
        """When its process is gone, so is the session; another process may listen by the next one."""
        if why != self._failure_said:  # a client that tries again and again is told each time, stderr once
            warn(f"{self.endpoint.host}:{self.endpoint.port}: {why}")
            self._failure_said = why
        process = self._process
        if process is None or not procfs.is_running(process):
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
        with contextlib.suppress(UpstreamError):
            for answer in answers:
                await upstream.ask(b"POST", [*passed, *JSON], answer)
                await upstream.whole()
                upstream.answered()
        upstream.leave()

    async def approved(self, request: ApprovalRequest) -> bool:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def settle(approved: bool) -> None:
            if not answer.done():
                answer.set_result(approved)

        def answered(approved: bool) -> None:
            with contextlib.suppress(RuntimeError):  # the proxy has ended
                loop.call_soon_threadsafe(settle, approved)

        self._approvals.ask(request, answered)
        return await answer

    def _session(self) -> Session:
        return Session(
            self._policy,
            self._log,
            label=self._label,
            source=SOURCE,
            connection=secrets.token_hex(8),
            server_process=self.server_process(),
            tools=self._tools,
        )

    def server_process(self) -> ProcessKey | None:
        if not self._process_is_known:
            self._process = procfs.listener(self.endpoint.host, self.endpoint.port)
            self._process_is_known = True
        return self._process


class Sessions:
    """Which session a request belongs to. Legacy clients speak in one session over many connections, by its
    id; everybody else has one session for each connection, because request ids are unique only there."""

    def __init__(self, make: Callable[[], Session], most: int = MOST_NAMED) -> None:
        self._make = make
        self._most = most
        self._open: set[Session] = set()
        self._named: OrderedDict[bytes, Session] = OrderedDict()

    def new(self) -> Session:
        session = self._make()
        self._open.add(session)
        return session

    def is_open(self, session: Session) -> bool:
        return session in self._open

    def named(self, name: bytes) -> Session:
        """One that the server does not know is ended when it says so."""
        if name not in self._named:
            self.bind(name, self.new())
        self._named.move_to_end(name)
        return self._named[name]

    def bind(self, name: bytes, session: Session) -> None:
        """The server has given a session its name."""
        self.end_named(name)
        self._named[name] = session
        if len(self._named) > self._most:
            self.end_named(next(iter(self._named)))

    def end_named(self, name: bytes) -> None:
        session = self._named.pop(name, None)
        if session is not None:
            self.end(session)

    def end(self, session: Session) -> None:
        if session in self._open:
            self._open.remove(session)
            session.client_gone()

    def end_without_server(self, session: Session) -> None:
        """Unless other requests in it still wait: each learns by itself what became of it."""
        if session in self._open and not session.is_waiting:
            self._open.remove(session)
            self._named = OrderedDict((name, one) for name, one in self._named.items() if one is not session)
            session.server_gone()

    def end_all(self) -> None:
        self._named.clear()
        for session in list(self._open):
            self.end(session)
