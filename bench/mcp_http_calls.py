"""A client of MCP over HTTP for the bench, and the proxy before a server that does nothing.

In: a folder with the policy, and an environment. Out: a `Client` for every way to the server, the same calls
over one connection each. What a client of the current era sends is sent, and an answer is read to its end;
neither is looked at any closer, so that the time of a call is spent on its way.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from recorders import BARE, STENO

UPSTREAM = Path(__file__).with_name("http_upstream.py")
VERSION = "2026-07-28"
_HEAD = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n"
    "Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nUser-Agent: bench\r\n"
    "Content-Type: application/json\r\n"
    f"MCP-Protocol-Version: {VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: read_x\r\n"
    "Content-Length: %d\r\n\r\n"
)
_META = {"io.modelcontextprotocol/protocolVersion": VERSION}


class Client:
    """One connection, and how long each answer on it took, in milliseconds."""

    def __init__(self, port: int, begin: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.samples: list[float] = []
        self.call(0, 0)
        self.first_answer = (time.perf_counter() - begin) * 1000

    def call(self, number: int, size: int) -> float:
        arguments = {"path": "/tmp/a", "text": "x" * size}
        params = {"name": "read_x", "arguments": arguments, "_meta": _META}
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
        request = (_HEAD % len(body)).encode() + body
        begin = time.perf_counter()
        self._socket.sendall(request)
        answer = b""
        while not answer.endswith((b"}}", b"0\r\n\r\n")):
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise RuntimeError("the server has gone")
            answer += piece
        taken = (time.perf_counter() - begin) * 1000
        if b'"result"' not in answer:
            raise RuntimeError(f"this is no result: {answer!r}")
        return taken

    def close(self) -> None:
        self._socket.close()


@contextmanager
def clients(
    policy: Path, log: Path, env: Mapping[str, str], *, events: bool
) -> Iterator[Mapping[str, Client]]:
    """By the names of the ways."""
    upstream = [sys.executable, "-S", str(UPSTREAM), *(["events"] if events else [])]
    with ExitStack() as stack:
        begin = time.perf_counter()
        port = int(stack.enter_context(_started(upstream, env)))
        found = {BARE: Client(port, begin)}
        proxy = [str(STENO), "mcp", "proxy", "--policy", str(policy), "--listen", "127.0.0.1:0", "--json"]
        proxy += ["--upstream", f"http://127.0.0.1:{port}/mcp"]
        for name, words in (("proxy", [*proxy, "--log", str(log)]), ("proxy, no log", proxy)):
            begin = time.perf_counter()
            said = json.loads(stack.enter_context(_started(words, env)))
            found[name] = Client(urlsplit(said["listening"]).port or 0, begin)
        for client in found.values():
            stack.callback(client.close)
        yield found


@contextmanager
def _started(words: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """The first line of what it says."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=env, text=True) as process:
        try:
            yield process.stdout.readline() if process.stdout is not None else ""
        finally:
            process.send_signal(signal.SIGTERM)
