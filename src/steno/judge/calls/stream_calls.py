"""The calls that an agent tells in its own stream, where nobody else tells of any.

The agent is the one that `steno agent start` says, else the one that comes with Steno and whose program was
started. Hooks, a framework and policy know more of a call, so where one of them spoke the stream is not read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from steno.evidence import kinds, layout
from steno.evidence.claims import SdkDetail, SdkEventType, SdkLine
from steno.evidence.intake_names import MAX_ID, MAX_NAME, MAX_TOLD
from steno.evidence.layers import Layers
from steno.judge.terminal import recorded

MAX_STREAM = 64 << 20  # a longer one is not read


class _Speaker(NamedTuple):
    agent: str
    parser: str


def stream_calls(layers: Layers) -> list[SdkLine]:
    """Numbered, in the order of the stream."""
    speaker = _speaker(layers)
    tape = layout.STDOUT if layout.STDOUT in recorded(layers) else layout.OUTPUT
    if speaker is None or not layers.has(tape) or layers.size(tape) > MAX_STREAM:
        return []
    from steno.agents import events, stream  # late: most runs are of no agent

    if speaker.parser not in stream.parser_names():
        return []
    found: list[SdkLine] = []
    names: dict[str, str] = {}
    for event in stream.read(speaker.parser, b"".join(layers.read(tape)), b""):
        if isinstance(event, events.ToolCall) and _is_usable(event):
            names[event.id] = event.name
            said = _kept("input", event.input)
            found.append(
                _line(layers.run_id, len(found), "tool_call_started", speaker, event.id, event.name, said)
            )
        elif isinstance(event, events.ToolResult) and event.id in names:
            said = _kept("output", {"output": event.text, "is_error": not event.ok})
            name = names[event.id]
            found.append(
                _line(layers.run_id, len(found), "tool_call_completed", speaker, event.id, name, said)
            )
    return found


def _speaker(layers: Layers) -> _Speaker | None:
    start: kinds.RunStart | None = None
    facts: dict[str, Any] = {}
    for event in layers.events():
        match event.data:
            case kinds.RunStart() as data:
                start = data
            case kinds.AgentStep(facts=dict() as told):
                facts |= told
    if start is None or start.shim == kinds.NO_SHIM:
        return None
    from steno.agents.known import builtin

    agent, rules = facts.get("agentName"), facts.get("rules")
    if isinstance(agent, str) and isinstance(rules, dict):
        return _Speaker(agent, str(rules.get("parser")))
    program = start.cmd_redacted[0].rpartition("/")[2] if start.cmd_redacted else ""
    found = next((one for one in builtin().values() if one.program == program), None)
    return None if found is None else _Speaker(found.name, found.stream.parser)


def _is_usable(event: Any) -> bool:
    return all(
        0 < len(text) <= most and text.isprintable()
        for text, most in ((event.id, MAX_ID), (event.name, MAX_NAME))
    )


def _kept(field: str, value: Any) -> dict[str, Any]:
    """Bounded as what hooks and frameworks tell."""
    fits = len(msgspec.json.encode(value)) <= MAX_TOLD
    return {field: value} if fits else {"cut": True}


def _line(
    run_id: str, seq: int, event: SdkEventType, speaker: _Speaker, call: str, tool: str, said: dict[str, Any]
) -> SdkLine:
    return SdkLine(
        run_id=run_id,
        seq=seq,
        event_type=event,
        source=speaker.agent,
        sdk_name=speaker.agent,
        sdk_version=None,
        tool_call_id=call,
        tool=tool,
        steno=SdkDetail(id_from="stream", **said),
    )
