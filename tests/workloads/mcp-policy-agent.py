"""The `mcp-policy-agent` of assay-runner: starts an MCP server and makes the calls that it is told, in turn.

Usage: mcp-policy-agent.py CALLS SERVER [ARG]... with CALLS a JSON list of {"id", "tool", "arguments"}. Prints
each answer as a line of JSON. It knows nothing of Steno: the policy stands in SERVER's place.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "mcp-policy-agent", "version": "1"},
}


class Server:
    def __init__(self, words: list[str]) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._asked = 0

    def tell(self, method: str, params: dict[str, Any], **more: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self.tell(method, params, id=self._asked)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = json.loads(line)
            if found.get("id") == self._asked and "method" not in found:
                return dict(found)
        raise SystemExit("the server has gone")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    calls, words = json.loads(sys.argv[1]), sys.argv[2:]
    server = Server(words)
    server.ask("initialize", HANDSHAKE)
    server.tell("notifications/initialized", {})
    server.ask("tools/list", {})
    for call in calls:
        meta = {"_meta": {"steno/toolCallId": call["id"]}} if call.get("id") else {}
        params = {"name": call["tool"], "arguments": call["arguments"], **meta}
        print(json.dumps(server.ask("tools/call", params)), flush=True)
    server.close()


if __name__ == "__main__":
    main()
