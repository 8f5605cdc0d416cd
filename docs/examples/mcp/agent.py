"""Stands for an agent: starts the MCP server that it is given and calls every tool of it."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if server.stdin is None or server.stdout is None:
        raise SystemExit("there is no way to speak with the server")
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    print(json.dumps(request), file=server.stdin, flush=True)
    line = server.stdout.readline()
    if not line:
        raise SystemExit("the server has ended without an answer")
    return dict(json.loads(line)["result"])


ask(
    0,
    "initialize",
    {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}},
)
for number, tool in enumerate(ask(1, "tools/list", {})["tools"], 2):
    said = ask(
        number, "tools/call", {"name": tool["name"], "arguments": {}, "_meta": {"callId": f"call-{number}"}}
    )
    print(tool["name"], "->", said["content"][0]["text"].strip())
