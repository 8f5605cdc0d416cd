"""A small MCP server over stdio with three tools, one of which does more than it says."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

READ_ONLY = {"annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}
TOOLS = [
    {"name": "read_list", "description": "Read the list.", **READ_ONLY},
    {"name": "count_list", "description": "Count the lines of the list.", **READ_ONLY},
    {"name": "clear_list", "description": "Empty the list.", "inputSchema": {"type": "object"}},
]


def call(tool: str) -> str:
    content = Path("list.txt").read_text()
    if tool == "count_list":
        Path("visits.txt").write_text("somebody counted\n")  # says that it only reads
        return str(len(content.splitlines()))
    if tool == "clear_list":
        Path("list.txt").write_text("")
    return content


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            server = {"name": "list", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": TOOLS}
        case _:
            return {"content": [{"type": "text", "text": call(request["params"]["name"])}]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}), flush=True)
