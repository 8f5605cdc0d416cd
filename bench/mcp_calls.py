"""What a policy between an MCP client and a server costs a call: bare and wrapped, call by call in turn.

In: how many calls. Out: the time from a call to its answer as the client sees it, at the median and at the
99th percentile, and what the wrap or the proxy adds to it; the time from the start of the server to its first
answer. The server does nothing, so all that is measured is on the way.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import mcp_http_calls
from figures import Table, verdict
from recorders import BARE, STENO, say_progress

SERVER = Path(__file__).parents[1] / "tests" / "support" / "mcp_raw_server.py"
POLICY = """\
version: 1
default: deny
rules:
  - tools: ["read_*"]
    action: allow
    arguments: {type: object}
"""
SMALL = 20
SIZES = {"small arguments": SMALL, "arguments of 32 KB": 32 << 10}
WARM_UP = 20
MOST_ADDED_P50_MS = 0.5
MOST_ADDED_P50_MS_HTTP = 1.0  # every head is read and written twice more
MOST_ADDED_P99_MS = 3.0
COLUMNS = (
    ("", 24), ("", 13), ("calls", 6), ("p50, ms", 8), ("p99, ms", 8), ("added p50", 9), ("added p99", 9),
    ("first answer, ms", 16), ("budget", 40),
)  # fmt: skip


class Percentiles(NamedTuple):
    p50: float
    p99: float


class Server:
    """One that answers line by line, and how long each answer took, in milliseconds."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            bufsize=0,
        )
        self._answers = self._process.stdout
        self.samples: list[float] = []
        self.call(0, 0)
        self.first_answer = (time.perf_counter() - begin) * 1000

    def call(self, number: int, size: int) -> float:
        params = {"name": "read_x", "arguments": {"path": "/tmp/a", "text": "x" * size}}
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
        if self._process.stdin is None or self._answers is None:
            raise ValueError("started without pipes")
        begin = time.perf_counter()
        self._process.stdin.write(line + b"\n")
        answer = self._answers.readline()
        taken = (time.perf_counter() - begin) * 1000
        if not answer:
            raise RuntimeError("the server has gone")
        return taken

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()


Peer = Server | mcp_http_calls.Client


def measure(
    calls: int, *, env: Mapping[str, str], place: Path, keep: Callable[[Mapping[str, Any]], None]
) -> None:
    policy, log = place / "policy.yaml", place / "decisions.ndjson"
    policy.write_text(POLICY)
    table = Table("Calls through a policy (in turn, one at a time)", COLUMNS)

    def row(name: str, size: int, peers: AbstractContextManager[Mapping[str, Peer]]) -> None:
        say_progress(f"{name}, {calls} calls")
        with peers as opened:
            _take_turns(opened, calls, size)
        samples = {variant: peer.samples for variant, peer in opened.items()}
        found = {variant: _percentiles(taken) for variant, taken in samples.items()}
        for variant, peer in opened.items():
            table.add(_line(name, variant, found, peer))
        keep({"row": name, "arguments_bytes": size, "samples_ms": samples})

    for name, size in SIZES.items():
        row(name, size, _over_pipes(policy, log, env))
    for name, size in SIZES.items():
        row(f"HTTP, {name}", size, mcp_http_calls.clients(policy, log, env, events=False))
    row("HTTP, answers as events", SMALL, mcp_http_calls.clients(policy, log, env, events=True))


@contextmanager
def _over_pipes(policy: Path, log: Path, env: Mapping[str, str]) -> Iterator[Mapping[str, Server]]:
    bare = [sys.executable, "-S", str(SERVER), "/dev/null"]
    wrap = [str(STENO), "mcp", "wrap", "--policy", str(policy)]
    variants = {
        BARE: bare,
        "wrap": [*wrap, "--log", str(log), "--", *bare],
        "wrap, no log": [*wrap, "--", *bare],
    }
    servers = {name: Server(words, env) for name, words in variants.items()}
    try:
        yield servers
    finally:
        for server in servers.values():
            server.close()


def _take_turns(peers: Mapping[str, Peer], calls: int, size: int) -> None:
    for number in range(1, WARM_UP + calls + 1):
        for peer in peers.values():
            taken = peer.call(number, size)
            if number > WARM_UP:
                peer.samples.append(taken)


def _percentiles(samples: Sequence[float]) -> Percentiles:
    cuts = statistics.quantiles(samples, n=100)
    return Percentiles(cuts[49], cuts[98])


def _line(name: str, variant: str, found: Mapping[str, Percentiles], peer: Peer) -> list[str]:
    here, bare = found[variant], found[BARE]
    line = [name, variant, str(len(peer.samples)), f"{here.p50:.3f}", f"{here.p99:.3f}"]
    first = f"{peer.first_answer:.0f}"
    if variant == BARE:
        return [*line, "", "", first, ""]
    added = Percentiles(here.p50 - bare.p50, here.p99 - bare.p99)
    most = MOST_ADDED_P50_MS_HTTP if name.startswith("HTTP") else MOST_ADDED_P50_MS
    budget = f"{verdict(added.p50, most, ' ms')}, {verdict(added.p99, MOST_ADDED_P99_MS, ' ms')}"
    return [*line, f"{added.p50:.3f}", f"{added.p99:.3f}", first, budget]
