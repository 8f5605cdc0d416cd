"""A real MCP server over streamable HTTP, for tests: says its port, and notes which tools were really called.

Run as `python mcp_http_server.py NOTES [json]`: the names of called tools are appended to the file NOTES.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from pathlib import Path

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("tests", log_level="ERROR")
NOTES = Path(sys.argv[1])
_arrived = anyio.Condition()
_arrivals: list[int] = []


class Name(BaseModel):
    name: str


def _note(tool: str) -> None:
    with NOTES.open("a") as file:
        file.write(f"{tool}\n")


@server.tool()
def echo(text: str) -> str:
    _note("echo")
    return text


@server.tool()
def delete(path: str) -> str:
    _note("delete")
    return path


@server.tool()
async def count(to: int, ctx: Context) -> str:
    _note("count")
    for number in range(to):
        await ctx.report_progress(number, to)
    return str(to)


@server.tool()
async def greet(ctx: Context) -> str:
    _note("greet")
    answer = await ctx.elicit("Who are you?", Name)
    return answer.model_dump_json()


@server.tool()
async def wait() -> str:
    _note("wait")
    try:
        await anyio.sleep_forever()
    finally:
        _note("wait ended")
    return ""


@server.tool()
async def together(of: int) -> str:
    """Answers when `of` calls of it have come."""
    _note("together")
    async with _arrived:
        _arrivals.append(of)
        _arrived.notify_all()
        while len(_arrivals) < of:
            await _arrived.wait()
    return str(of)


@server.tool()
def crash() -> str:
    _note("crash")
    os._exit(3)


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    sock = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))), backlog=2048)
    print(sock.getsockname()[1], flush=True)
    app = server.streamable_http_app(json_response="json" in sys.argv[2:], max_request_body_size=64 << 20)
    config = uvicorn.Config(app, log_level="error", ws="none", lifespan="on")
    uvicorn.Server(config).run(sockets=[sock])


if __name__ == "__main__":
    main()
