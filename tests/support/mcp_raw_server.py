"""A server for the tests that knows only lines: it keeps each as it came, and answers by the tool's name.

Usage: mcp_raw_server.py KEPT [deaf]. Every line goes to the file KEPT. `deaf`: it ignores the end of its
input and SIGTERM, and so does a child that it starts; KEPT.pids holds their numbers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

SIGNALLED = b'{"jsonrpc":"2.0","method":"notifications/message"}\n'
TOOLS = {"tools": [{"name": "read_x", "inputSchema": {"type": "object"}}]}


def main() -> None:
    kept, deaf = Path(sys.argv[1]), sys.argv[2:] == ["deaf"]
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child == 0:
            signal.pause()
        kept.with_suffix(".pids").write_text(f"{os.getpid()} {child}")
    # A handler of Python's may wait for the end of a read that began as the signal came; a thread does not.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    threading.Thread(target=tell_of_signals, daemon=True).start()
    print("a word of the server on its stderr", file=sys.stderr, flush=True)
    held: list[Any] = []
    with kept.open("wb", buffering=0) as file:
        while line := sys.stdin.buffer.readline():
            file.write(line)
            if line.strip():
                answer(json.loads(line), len(line), held)
    if deaf:
        while True:
            signal.pause()


def tell_of_signals() -> None:
    while signal.sigwait({signal.SIGUSR1}):
        os.write(1, SIGNALLED)


def answer(message: dict[str, Any], size: int, held: list[Any]) -> None:
    tool = (message.get("params") or {}).get("name")
    if "id" not in message or "method" not in message or tool == "read_never":
        return
    if tool == "read_later":
        held.append(message["id"])
    elif tool in {"read_crash", "read_exit"}:
        end(tool)
    elif tool == "read_odd_bytes":
        raw(b'{"jsonrpc" : "2.0",\t"id":%d, "result":{"content":[],"x":"\\u00e9"} }\r\n' % message["id"])
    elif tool == "read_large":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":"%s"}}\n' % (message["id"], b"y" * size))
    else:
        for one in reversed(held) if tool == "read_all_held" else ():
            say({"id": one, "result": {"content": []}})
        if tool == "read_question":
            say({"id": 77, "method": "roots/list"})
        say({"id": message["id"], "result": TOOLS if message["method"] == "tools/list" else {"content": []}})


def end(how: str) -> None:
    if how == "read_crash":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(3)


def say(message: dict[str, Any]) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
