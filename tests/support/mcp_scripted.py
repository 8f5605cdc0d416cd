"""The HTTP proxy in this process, with a scripted upstream behind it and plain sockets before it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from steno.evidence import intake
from steno.mcp.decision_log import DecisionLog
from steno.mcp.http import headers
from steno.mcp.http.proxy import Proxy
from steno.mcp.policy.globs import Globs
from steno.mcp.policy.policy import Approval, Methods, Policy, Rule

SECONDS = 60.0
_DENY = Rule("no", Globs(("delete",)), Globs(("*",)), "deny")
_ASK = Rule("ask", Globs(("careful",)), Globs(("*",)), "ask")
Answering = Callable[[bytes, bytes, asyncio.StreamWriter], Awaitable[None]]


class Bench:
    """A proxy in this process, what its upstream got, and what it told."""

    def __init__(self, log: Path, port: int = 0) -> None:
        self.log = log
        self.port = port
        self.upstream: asyncio.Server | None = None
        self.received: list[tuple[bytes, bytes]] = []  # head and body of every request at the upstream

    async def stop_upstream(self) -> None:
        """Nobody listens there any more."""
        assert self.upstream is not None
        self.upstream.close()
        await self.upstream.wait_closed()

    async def ask(self, *requests: bytes, stay: bool = False) -> bytes:
        """What the client reads until the proxy closes, or (stay) until nothing more can come."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"".join(requests))
        if stay:
            return await reader.readuntil(b"\r\n\r\n")
        read = await asyncio.wait_for(reader.read(), SECONDS)
        writer.close()
        return read

    def told(self) -> list[intake.PolicyTold]:
        return [intake.policy_told(line) for line in self.log.read_bytes().splitlines(keepends=True)]

    def outcomes(self) -> list[str]:
        return [one.outcome for one in self.told() if isinstance(one, intake.Ended)]


@asynccontextmanager
async def bench(
    folder: Path,
    answering: Answering,
    *,
    hide: bool = False,
    approval: list[str] | None = None,
    denied_methods: tuple[str, ...] = (),
) -> AsyncIterator[Bench]:
    made = Bench(folder / "decisions")

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
                body = await reader.readexactly(int(length or 0))
                made.received.append((head, body))
                await answering(head, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(upstream, "127.0.0.1", 0, backlog=1024)
    address = headers.upstream_endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
    policy = Policy(
        digest="0" * 64,
        default="allow",
        rules=(_DENY, _ASK),
        methods=Methods(deny=Globs(denied_methods)),
        hide_denied=hide,
        approval=None if approval is None else Approval(approval, 60),
    )
    log = DecisionLog.open({}, str(made.log))
    proxy = Proxy(policy, log, address, "tests")
    listening = await proxy.listen("127.0.0.1", 0)
    made.upstream = server
    made.port = listening.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listening.close()
        server.close()
        await proxy.end()
        log.close()


def post(message: Any, **headers: str) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    lines = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": len(body)}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    return (
        b"POST /mcp HTTP/1.1\r\n"
        + b"".join(f"{k}: {v}\r\n".encode() for k, v in lines.items())
        + b"\r\n"
        + body
    )


def call(tool: str = "echo", request_id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": tool}}


def sends(head: bytes, body: bytes, *, length: bool = True) -> Answering:
    size = b"Content-Length: %d\r\n" % len(body) if length else b""

    async def answering(_head: bytes, _body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 " + head + b"\r\n" + size + b"\r\n" + body)
        if not length:
            writer.close()

    return answering


def asked(folder: Path, answering: Answering, *requests: bytes, hide: bool = False) -> tuple[bytes, Bench]:
    async def run() -> tuple[bytes, Bench]:
        async with bench(folder, answering, hide=hide) as made:
            return await made.ask(*requests), made

    return asyncio.run(run())
