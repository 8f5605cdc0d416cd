"""Ids for the calls of agents that tell none.

In: what the hooks of a run told, in order. Out: the same, each with the id that it has or gets. The two ends
of a call are matched by agent, session, tool, input and order: the first that began and did not end is the
one that ends. An id says that it is inferred: `inferred:`, eight hex digits of SHA-256 over the tool and the
names of its arguments, and which such call of the run it is. No value goes into an id: a digest of a secret
would be a way to guess it. Never gives one id to two calls.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from typing import Any

from steno.evidence import canonical
from steno.evidence.intake import HookTold

PREFIX = "inferred:"
_HEX_DIGITS = 8
_ENDS = {"tool_call_completed"}
_CALLS = {"tool_call_started", *_ENDS}


def with_ids(told: Iterable[HookTold]) -> list[tuple[HookTold, str | None]]:
    """None for what is no call."""
    ids = _Ids()
    return [(each, each.tool_call_id or ids.of(each)) for each in told]


class _Ids:
    def __init__(self) -> None:
        self._given: dict[str, int] = {}
        self._open: dict[tuple[str, str | None, str], deque[str]] = {}

    def of(self, told: HookTold) -> str | None:
        if told.event_type not in _CALLS:
            return None
        open_calls = self._open.setdefault(
            (told.agent, told.session, _digest(told.tool, told.input)), deque()
        )
        if told.event_type in _ENDS and open_calls:
            return open_calls.popleft()
        new = self._new(_digest(told.tool, _names(told.input))[:_HEX_DIGITS])
        if told.event_type not in _ENDS:
            open_calls.append(new)
        return new

    def _new(self, digits: str) -> str:
        self._given[digits] = self._given.get(digits, 0) + 1
        return f"{PREFIX}{digits}:{self._given[digits]}"


def _names(given: Any) -> list[str]:
    return sorted(given) if isinstance(given, dict) else []


def _digest(tool: str | None, given: Any) -> str:
    try:
        data = canonical.encode([tool, given])
    except canonical.NotCanonicalError:  # nested too deep: the name and the order are left
        data = canonical.encode([tool])
    return hashlib.sha256(data).hexdigest()
