"""An agent of openai-agents with one MCP server and a model that follows a script: one tool call, then words.

Usage: openai-agents-agent.py CALL SERVER [ARG]... with CALL a JSON object {"id", "tool", "arguments"}, and
"request_id" if the MCP request is to carry another id than the SDK tells. Prints what the tool answered.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agents import Agent, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPToolMetaContext
from agents.testing import ScriptedModel, assistant_message, function_call

from steno.shims.openai_agents import META_KEY, run_environment, run_recorded, tool_meta_resolver

CALL, COMMAND = json.loads(sys.argv[1]), sys.argv[2:]


def another_id(context: MCPToolMetaContext) -> dict[str, Any] | None:
    found = tool_meta_resolver(context)
    return found and {META_KEY: CALL["request_id"]}


async def main() -> None:
    set_tracing_disabled(True)
    steps = [
        [function_call(CALL["tool"], CALL["arguments"], call_id=CALL["id"])],
        [assistant_message("done")],
    ]
    async with MCPServerStdio(
        name="filesystem",
        params={"command": COMMAND[0], "args": COMMAND[1:], "env": run_environment()},
        tool_meta_resolver=another_id if "request_id" in CALL else tool_meta_resolver,
        client_session_timeout_seconds=30,
    ) as server:
        agent = Agent(name="agent", model=ScriptedModel(steps), mcp_servers=[server])
        result = await run_recorded(agent, "go")
    print([item.output for item in result.new_items if item.type == "tool_call_output_item"])


if __name__ == "__main__":
    asyncio.run(main())
