"""What a hook was given, by the definition of its agent: which event it is, and where its facts are.

Nothing of a payload is believed here, and nothing raises for what one holds. A record has the payload
itself, so that whoever reads it later may understand more.
"""

from __future__ import annotations

from typing import Any

import msgspec

from steno.agents.definition import HookEvent, Hooks
from steno.agents.json_lines import at
from steno.agents.known import builtin
from steno.evidence.intake import HookTold
from steno.evidence.intake_names import MAX_ID, MAX_NAME, NOT_UNDERSTOOD


def interpreted(told: HookTold) -> HookTold | None:
    """None: the event tells nothing. A hook of an older Steno has told the facts itself."""
    if told.payload is None:
        return told
    definition = builtin().get(told.agent)
    return _read(told, None if definition is None else definition.hooks)


def _read(told: HookTold, hooks: Hooks | None) -> HookTold | None:
    name = None if hooks is None else _at(told.payload, hooks.event)
    if hooks is None or not isinstance(name, str):
        return _not_understood(told)
    event = hooks.events.get(name)
    if event is None:
        return None
    facts: dict[str, Any] = {
        "event_type": event.emits,
        "session": _short(told.payload, hooks.session, MAX_ID),
    }
    if event.emits.startswith("tool_call_"):
        facts |= _call(told.payload, hooks, event)
        if facts["tool"] is None:
            return _not_understood(told)
    elif isinstance(message := _at(told.payload, event.message), str):
        facts["message"] = message
    return msgspec.structs.replace(told, payload=None, **facts)


def _call(payload: Any, hooks: Hooks, event: HookEvent) -> dict[str, Any]:
    servers = (_short(payload, path, MAX_NAME) for path in hooks.server)
    return {
        "tool": _short(payload, event.tool or hooks.tool, MAX_NAME),
        "tool_call_id": _short(payload, event.call_id or hooks.call_id, MAX_ID),
        "server": next((server for server in servers if server), None),
        "input": _at(payload, event.input or hooks.input),
        "output": {"error": _at(payload, event.error)} if event.error else _at(payload, event.output),
    }


def _not_understood(told: HookTold) -> HookTold:
    return msgspec.structs.replace(told, payload=None, problem=NOT_UNDERSTOOD)


def _at(payload: Any, path: str | None) -> Any:
    """None: it is not there, or nobody knows where it would be."""
    return None if path is None else at(payload, *path.split("."))


def _short(payload: Any, path: str | None, most: int) -> str | None:
    """An id or a name that can be taken as it is."""
    value = _at(payload, path)
    return value if isinstance(value, str) and 0 < len(value) <= most and value.isprintable() else None
