"""What a hook was given, as the line that tells the recorder.

In: the bytes that the agent wrote, and the description of the agent. Out: the fields of `intake.HookTold`
that are known from them, None for an event that tells nothing, or the fixed word for why they cannot be
understood. Everything is bounded. Nothing of the payload is believed here, and nothing of the environment is
read. Never raises for what an agent writes.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from steno.evidence.intake_names import MAX_ID, MAX_NAME, MAX_TOLD
from steno.hooks.agent import Agent, Event, Way
from steno.hooks.fitting import fitted, fitted_text

MAX_PAYLOAD = 16 << 20
TOO_LARGE = "payload_too_large"
NOT_JSON = "payload_not_json"
NOT_UNDERSTOOD = "payload_not_understood"
# The reader measures in its own way of writing, where a number may be a little longer.
_ROOM = MAX_TOLD - MAX_TOLD // 16


class NotUnderstoodError(ValueError):
    """What came is no payload of a hook; the message is the fixed word that says why."""


def read(payload: bytes, agent: Agent) -> dict[str, Any] | None:
    if len(payload) > MAX_PAYLOAD:
        raise NotUnderstoodError(TOO_LARGE)
    try:
        data = json.loads(payload, parse_constant=_refuse)
        return _told(data, agent)
    except NotUnderstoodError:
        raise
    except ValueError:
        raise NotUnderstoodError(NOT_JSON) from None
    except RecursionError:
        raise NotUnderstoodError(NOT_UNDERSTOOD) from None


def _told(data: Any, agent: Agent) -> dict[str, Any] | None:
    name = _at(data, ("hook_event_name",))
    if not isinstance(name, str):
        raise NotUnderstoodError(NOT_UNDERSTOOD)
    event = agent.events.get(name)
    if event is None:
        return None
    told: dict[str, Any] = {
        "event_type": event.becomes,
        "session": _short(_at(data, ("session_id",)), MAX_ID),
        "tool_call_id": None,
        "tool": None,
    }
    known = _call(data, agent, event) if event.becomes.startswith("tool_call_") else _end(data, event)
    return told | known


def _call(data: Any, agent: Agent, event: Event) -> dict[str, Any]:
    tool = _short(data.get("tool_name"), MAX_NAME)
    if tool is None:
        raise NotUnderstoodError(NOT_UNDERSTOOD)
    servers = (_short(_at(data, way), MAX_NAME) for way in agent.servers)
    known: dict[str, Any] = {
        "tool": tool,
        "tool_call_id": _short(_at(data, agent.tool_call_id), MAX_ID),
        "server": next((server for server in servers if server), None),
    }
    output = _at(data, event.output)
    if event.error:
        output = {"error": _at(data, event.error)}
    cut = False
    for field, value in (("input", data.get("tool_input")), ("output", output)):
        if value is not None:
            known[field], was_cut = fitted(value, _ROOM)
            cut = cut or was_cut
    return {**known, "cut": cut}


def _end(data: Any, event: Event) -> dict[str, Any]:
    message, path = _at(data, event.message), _at(data, event.transcript)
    if not isinstance(message, str) and isinstance(path, str):
        from steno.hooks.transcript import last_words

        message = last_words(path)
    if not isinstance(message, str):
        return {}
    message, cut = fitted_text(message, _ROOM)
    return {"message": message, "cut": cut}


def _at(data: Any, way: Way) -> Any:
    """None: it is not there; an empty way leads nowhere."""
    if not way:
        return None
    for key in way:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _short(value: Any, most: int) -> str | None:
    """An id or a name that can be taken as it is."""
    return value if isinstance(value, str) and 0 < len(value) <= most and value.isprintable() else None


def _refuse(_: str) -> NoReturn:
    raise NotUnderstoodError(NOT_JSON)
