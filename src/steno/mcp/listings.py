"""The answer to a listing of tools: compared with the pins, remembered, and shortened where a policy says so.

In: results of a server, read as strictly as a client is: a model must not get another description of a tool
than the one that was compared. Out: what kind of a result it is; what is not as it was pinned; the listing
without what is hidden. One is shared by all connections to a server. Never changes a byte of a tool that
stays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from steno.mcp import server_frames
from steno.mcp.policy import Policy

METHOD = "tools/list"
MAX_KNOWN_TOOLS = 10_000
_PARTS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_FOLDED = {part.casefold(): part for part in _PARTS}


def are_definitions(tools: Any) -> bool:
    """Whether they are definitions of tools that all clients read alike."""
    return isinstance(tools, list) and all(
        isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and all(_FOLDED.get(key.casefold(), key) == key for key in tool)
        for tool in tools
    )


class KnownTools:
    """What the listings of a server said. Its lock is that of whoever asks: dicts are enough."""

    def __init__(self, policy: Policy, label: str) -> None:
        self._policy = policy
        self._label = label
        self._read_only: dict[str, bool] = {}

    def read_only(self, tool: str) -> bool | None:
        """The server's own hint; None: it gave none."""
        return self._read_only.get(tool)

    def learn(self, tools: list[dict[str, Any]]) -> list[tuple[str, str]]:
        """The tools that are not as they were pinned, and what differs."""
        for tool in tools:
            hints = tool.get("annotations")
            told = hints.get("readOnlyHint") if isinstance(hints, dict) else None
            if isinstance(told, bool) and len(self._read_only) < MAX_KNOWN_TOOLS:
                self._read_only[tool["name"]] = told
        return self._policy.check_listing(self._label, tools)

    def shown(self, data: bytes) -> bytes:
        if not self._policy.hides:
            return data
        return server_frames.without_tools(data, partial(self._policy.lists, self._label))
