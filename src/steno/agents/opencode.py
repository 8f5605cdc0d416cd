"""The stream of `opencode run --format json`.

In: records, each with the id of its session and a `part` of the conversation. Out: the events. A call and its
result are one record.
"""

from __future__ import annotations

from collections.abc import Iterable

from steno.agents.events import AssistantText, Event, Failed, Span, ToolCall, ToolResult, TurnEnded
from steno.agents.json_lines import JsonObject, at, first_text, text_at
from steno.agents.stream import Sessions, record_parser

SESSION_FIELD = "sessionID"
_ERRORS = ("error", "data", "message"), ("error", "message"), ("error", "name")


class Reader:
    def __init__(self) -> None:
        self._sessions = Sessions(SESSION_FIELD)

    def read(self, found: JsonObject, span: Span) -> Iterable[Event] | None:
        return [*self._sessions.started(found, span), *_told(found, span)] or None

    def ended(self, found: JsonObject, span: Span, *, ok: bool) -> list[Event]:
        reason = first_text(found, ("part", "reason"), *_ERRORS)
        return [*self._sessions.started(found, span), TurnEnded((span,), ok, reason)]

    def finish(self) -> Iterable[Event]:
        return ()


def _told(found: JsonObject, span: Span) -> list[Event]:
    match found.get("type"):
        case "text" if text := text_at(found, "part", "text"):
            return [AssistantText((span,), text)]
        case "tool_use":
            return _call(found, span)
        case "error":
            return [Failed((span,), first_text(found, *_ERRORS))]
    return []


def _call(found: JsonObject, span: Span) -> list[Event]:
    call, name = text_at(found, "part", "callID"), text_at(found, "part", "tool")
    state = at(found, "part", "state")
    status = text_at(state, "status")
    told: list[Event] = [ToolCall((span,), call, name, at(state, "input"))]
    if status in {"completed", "error"}:
        # A command that fails is completed all the same.
        ok = status == "completed" and at(state, "metadata", "exit") in (None, 0)
        told.append(ToolResult((span,), call, ok, first_text(state, ("error",), ("output",))))
    return told


PARSER = record_parser(SESSION_FIELD, Reader, text_markers=(b'"text"',))
