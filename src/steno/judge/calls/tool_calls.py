"""The calls of a run as policy and agents tell them, joined by their ids.

The same id in both layers is one call. An id that does not stand for one call is said to be reused, and is
never guessed apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from steno.agents.made import HOOK_AGENTS
from steno.evidence.claims import PolicyLine, SdkLine

STARTED, COMPLETED = "tool_call_started", "tool_call_completed"
MCP_TOOL = "mcp__"
_MCP = "mcp_"  # with one underscore, as Gemini names them
TOOL_CALL = "tools/call"
_AGAIN = "input_required"
_PREFIX_ENDS = "_./:"
_HOOK_IDS = frozenset({"hook", "inferred"})


class ToldCall(msgspec.Struct, frozen=True):
    tool_call_id: str
    decision: PolicyLine | None
    said: tuple[SdkLine, ...]
    reused: bool  # the id does not tell this call from another

    @property
    def tool(self) -> str:
        return self.decision.tool if self.decision is not None else self.said_tool or ""

    @property
    def said_tool(self) -> str | None:
        return next((line.tool for line in self.said if line.tool is not None), None)

    @property
    def server(self) -> str | None:
        if self.decision is not None:
            return self.decision.steno.server
        return next((line.steno.server for line in self.said if line.steno and line.steno.server), None)

    @property
    def let_through(self) -> bool:
        """Whether policy gave it to the server. A dry run tells its decision and lets the call go on."""
        if self.decision is None:
            return False
        detail = self.decision.steno
        return self.decision.decision == "allow" or (detail.dry_run and detail.outcome != "denied")

    @property
    def denied(self) -> bool:
        return self.decision is not None and not self.let_through

    @property
    def ends(self) -> bool:
        """Whether anybody tells that it ended."""
        if self.decision is not None:
            return self.denied or self.decision.steno.end_ns is not None
        return any(line.event_type == COMPLETED for line in self.said)

    @property
    def by_hooks(self) -> bool:
        return any(is_of_hook(line) for line in self.said)

    @property
    def goes_through_policy(self) -> bool:
        """Whether the agent says that it asks an MCP server. Tools of the agent itself never do."""
        sources = {line.source for line in self.said}
        if sources and sources.issubset(HOOK_AGENTS):
            return self.server is not None or (self.said_tool or "").startswith(_MCP)
        return True

    @property
    def tool_agrees(self) -> bool:
        """Whether the agent names the tool that policy saw, with the server's name before it or not."""
        said = self.said_tool
        if self.decision is None or said is None:
            return True
        tool = self.decision.tool
        before = said[: -len(tool)] if tool and said.endswith(tool) else None
        return before == "" or (before is not None and before[-1] in _PREFIX_ENDS)


def is_of_hook(line: SdkLine) -> bool:
    return line.steno is not None and line.steno.id_from in _HOOK_IDS and line.steno.process is not None


def told_calls(policy: Sequence[PolicyLine], sdk: Iterable[SdkLine]) -> list[ToldCall]:
    decisions: dict[str, list[PolicyLine]] = defaultdict(list)
    said: dict[str, list[SdkLine]] = defaultdict(list)
    for decision in policy:
        decisions[decision.tool_call_id].append(decision)
    for line in sdk:
        if line.tool_call_id is not None and line.event_type in {STARTED, COMPLETED}:
            said[line.tool_call_id].append(line)
    reused = {id_ for id_, found in decisions.items() if not _is_one_call(found)}
    reused |= {id_ for id_, found in said.items() if _is_said_twice(found)}
    return [
        *(
            ToldCall(one.tool_call_id, one, tuple(said.get(one.tool_call_id, ())), one.tool_call_id in reused)
            for one in policy
        ),
        *(
            ToldCall(id_, None, tuple(found), id_ in reused)
            for id_, found in said.items()
            if id_ not in decisions
        ),
    ]


def _is_one_call(found: Sequence[PolicyLine]) -> bool:
    """A call that asked for more is made again under the same id; nothing else is."""
    before, connections = found[:-1], {one.steno.connection for one in found}
    return len(connections) == 1 and all(one.steno.outcome == _AGAIN for one in before)


def _is_said_twice(found: Sequence[SdkLine]) -> bool:
    """Two hooks for one event say the same twice; a program that starts a call twice has two calls."""
    starts = [line for line in found if line.event_type == STARTED]
    if all(map(is_of_hook, starts)):
        return len({(line.source, line.tool) for line in starts}) > 1
    return len(starts) > 1
