"""A real MCP server with `steno mcp proxy` before it, as processes, and what the proxy told."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from steno.evidence import intake
from support import waiting
from support.mcp_wrapped import told_in
from support.program import PROGRAM

SERVER = Path(__file__).with_name("mcp_http_server.py")
SECONDS = 60.0
POLICY = """\
version: 1
default: allow
hide_denied: true
rules:
  - tools: [delete]
    action: deny
"""


class Proxied(NamedTuple):
    url: str
    upstream: str
    folder: Path
    proxy: subprocess.Popen[bytes]
    server: subprocess.Popen[bytes] | None

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 0

    def called(self) -> list[str]:
        """The tools that reached the server."""
        notes = self.folder / "notes"
        return notes.read_text().splitlines() if notes.exists() else []

    def told(self) -> list[intake.PolicyTold]:
        return told_in(self.folder / "decisions.ndjson")

    def decided(self, tool: str) -> list[intake.Decided]:
        return [one for one in self.told() if isinstance(one, intake.Decided) and one.tool == tool]

    def outcome(self, decided: intake.Decided) -> str | None:
        ended = [one for one in self.told() if isinstance(one, intake.Ended)]
        return next(
            (
                one.outcome
                for one in ended
                if (one.connection, one.call) == (decided.connection, decided.call)
            ),
            None,
        )

    def until_outcome(self, tool: str, outcome: str) -> intake.Decided:
        """The last decision about the tool, once its call has ended so."""
        waiting.until(lambda: bool(self.decided(tool)) and self.outcome(self.decided(tool)[-1]) == outcome)
        return self.decided(tool)[-1]

    def raw(self, data: bytes) -> bytes:
        """What the proxy answers to these bytes, until it closes."""
        with socket.create_connection(self.address, SECONDS) as sock:
            with contextlib.suppress(OSError):  # it may have closed already
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
            return _rest(sock)

    def ask(
        self, body: bytes, headers: Mapping[str, str] | None = None, method: str = "POST"
    ) -> tuple[int, bytes]:
        """One request on a connection of its own: status and body."""
        from http.client import HTTPConnection

        connection = HTTPConnection(*self.address, timeout=SECONDS)
        usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request(method, urlsplit(self.url).path, body, {**usual, **(headers or {})})
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        return answer.status, read


def _rest(sock: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            found += piece
    return found


@contextlib.contextmanager
def serving(folder: Path, *words: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    command = [sys.executable, str(SERVER), str(folder / "notes"), *words]
    environ = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as process:
        try:
            assert process.stdout is not None
            yield process, f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()


@contextlib.contextmanager
def proxying(
    folder: Path, upstream: str, policy: str = POLICY
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    (folder / "policy.yaml").write_text(policy)
    options = {
        "--policy": folder / "policy.yaml",
        "--listen": "127.0.0.1:0",
        "--upstream": upstream,
        "--label": "tests",
        "--log": folder / "decisions.ndjson",
    }
    words = [str(word) for option in options.items() for word in option]
    command = [str(PROGRAM), "mcp", "proxy", *words, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())["listening"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)


@contextlib.contextmanager
def proxied(folder: Path, *words: str, policy: str = POLICY) -> Iterator[Proxied]:
    with (
        serving(folder, *words) as (server, upstream),
        proxying(folder, upstream, policy) as (proxy, url),
    ):
        yield Proxied(url, upstream, folder, proxy, server)


def call(tool: str, arguments: dict[str, Any], request_id: Any = 1, **meta: Any) -> bytes:
    """A call of the legacy era, as bytes."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}).encode()


VERSION = "2026-07-28"
_CURRENT = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def post(body: bytes, headers: Mapping[str, str], path: str = "/mcp") -> bytes:
    """A whole request, as bytes."""
    usual = {
        "Host": "localhost",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in {**usual, **headers}.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def current(tool: str, arguments: dict[str, Any], request_id: Any = 1) -> tuple[bytes, dict[str, str]]:
    """A call of the current era: its body and its headers."""
    headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return call(tool, arguments, request_id, **_CURRENT), headers
