"""The stream of `cline --json`: what the agent does (`agent_event`), and the result of the run.

A text comes in pieces that begin and end; the end has all of it. What the stream tells of its own hooks is
left to `Other`. No record names the session by which it could be continued.
"""

from __future__ import annotations

from collections.abc import Iterable

from steno.agents.events import AssistantText, Event, Failed, Span, ToolCall, ToolResult, TurnEnded
from steno.agents.json_lines import JsonObject, at, first_text, text_at
from steno.agents.stream import record_parser


class Reader:
    def read(self, found: JsonObject, span: Span) -> Iterable[Event] | None:
        event = at(found, "event")
        call, name = text_at(event, "toolCallId"), text_at(event, "toolName")
        match (at(event, "type"), at(event, "contentType")):
            case ("content_end", "text") if text := text_at(event, "text"):
                return [AssistantText((span,), text)]
            case ("content_start", "tool"):
                return [ToolCall((span,), call, name, at(event, "input"))]
            case ("content_end", "tool"):
                return [ToolResult((span,), call, *_outcome(event))]
            case ("error", _):
                return [Failed((span,), text_at(event, "error", "message"))]
        return None

    def ended(self, found: JsonObject, span: Span, *, ok: bool) -> list[Event]:
        reason = first_text(found, ("finishReason",), ("message",))
        return [TurnEnded((span,), ok, reason)]

    def finish(self) -> Iterable[Event]:
        return ()


def _outcome(event: object) -> tuple[bool, str]:
    """A tool answers with one result, or with a list of them."""
    output = at(event, "output")
    results = output if isinstance(output, list) else [output]
    texts = [text_at(result, "error") or text_at(result, "result") for result in results]
    went_well = not at(event, "error") and all(at(result, "success") is not False for result in results)
    return went_well, "\n".join(filter(None, texts)) or text_at(event, "error")


PARSER = record_parser("", Reader, text_markers=(b'"text"',))
