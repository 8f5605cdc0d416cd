"""What the hooks of real agents were given, captured once, with neutral names and paths.

`PAYLOADS` is by name: agent, event and tool, and what was special about it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

PAYLOADS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "agents" / "hooks" / "payloads.json").read_text(encoding="utf-8")
)


def payload(name: str, **changes: Any) -> bytes:
    return json.dumps({**PAYLOADS[name], **changes}).encode()


def agent_of(name: str) -> str:
    """`claude325` is a later Claude Code."""
    return name.partition("-")[0].removesuffix("325")


class Facts(NamedTuple):
    event: str
    session: str
    tool: str | None
    call: str | None
    input: Any


def facts_of(name: str) -> Facts:
    """Where they stand: Cline has them elsewhere than the others, who follow Claude Code."""
    found = PAYLOADS[name]
    if agent_of(name) == "cline":
        call = found.get("tool_call") or found.get("tool_result") or {}
        session = found["sessionContext"]["rootSessionId"]
        return Facts(found["hookName"], session, call.get("name"), call.get("id"), call.get("input"))
    call = (found.get("tool_name"), found.get("tool_use_id"), found.get("tool_input"))
    return Facts(found["hook_event_name"], found["session_id"], *call)
