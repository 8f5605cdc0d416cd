"""A server made with the `mcp` package, on stdio, for both eras of the protocol."""

from __future__ import annotations

import anyio
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("sdk")


@server.tool()
def read_echo(text: str) -> str:
    """Gives back what it gets."""
    return text


@server.tool()
def write_echo(text: str) -> str:
    """Is denied by the policy of the tests."""
    raise SystemExit(9)


@server.tool()
def read_failure() -> str:
    raise ValueError("this tool fails")


@server.tool()
async def read_progress(context: Context) -> str:
    for step in range(3):
        await context.report_progress(step, 3)
    return "done"


@server.tool()
async def read_forever() -> str:
    await anyio.sleep_forever()
    return "never"


if __name__ == "__main__":
    server.run("stdio")
