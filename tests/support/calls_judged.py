"""Runs with one call, made by hand, and what Steno makes of it: of a server, or of an agent with hooks."""

from __future__ import annotations

from typing import Any

import msgspec

from support.calls_made import BORN, HOOKS_LOG, calls_of, decision, said
from support.frames_made import FakeFrames

WRITE, CREATE = 0o1, 0o101
AGENT = 1
PARTIAL = msgspec.structs.replace(BORN, unreadable=1)
BETWEEN = 30_000


def served() -> FakeFrames:
    """1 the agent, 2 its server, in a window from 10,000 to 50,000."""
    return FakeFrames().process().process(parent=AGENT)


def of_server(made: FakeFrames, tool: str, arguments: Any, **more: Any) -> dict[str, Any]:
    of_run = {name: more.pop(name) for name in ("observed", "lines") if name in more}
    line = decision(tool=tool, at=(10_000, 50_000), arguments=arguments, **more)
    (call,) = calls_of(made, [line], **of_run)["calls"]
    assert isinstance(call, dict)
    return call


def hooked() -> FakeFrames:
    """1 the agent, 2 and 3 its hooks, with room for a tool between 20,000 and 40,000."""
    made = FakeFrames().process().event("process", process=2, arg=1002 | 1 << 32, arg2=7, result=0, at=10_000)
    made.event("open", HOOKS_LOG, process=2, arg=CREATE, at=20_000)
    made.event("exit", process=2, arg2=1, result=0, at=21_000)
    made.event("process", process=3, arg=1003 | 1 << 32, arg2=7, result=0, at=40_000)
    return made.event("open", HOOKS_LOG, process=3, arg=CREATE, at=41_000)


def child(made: FakeFrames, number: int = 4, at: int = BETWEEN) -> FakeFrames:
    return made.event("process", process=number, arg=1000 + number | 1 << 32, arg2=7, result=0, at=at)


def of_agent(made: FakeFrames, tool: str, given: Any, answer: Any = None, **more: Any) -> dict[str, Any]:
    lines = [
        said("tool_call_started", "a", tool, source="claude", hook=2, agent=1, input=given),
        said("tool_call_completed", "a", tool, source="claude", hook=3, agent=1, output=answer),
    ]
    (call,) = calls_of(made, [], lines, **more)["calls"]
    assert isinstance(call, dict)
    return call


def result(call: dict[str, Any], rule: str) -> str | None:
    return next((one["result"] for one in call["rules"] if one["rule"] == rule), None)
