"""The stream of `claude -p --output-format stream-json --verbose`.

In: records: messages of the assistant and of the user in the Messages API's form, and a `result` at the end
of a turn. Out: the events. What a subagent says is not said to the user: its words are left to `Other`, its
calls are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from steno.agents.events import AssistantText, Event, Failed, Span, ToolCall, ToolResult, TurnEnded
from steno.agents.json_lines import JsonObject, at, text_at, text_of_parts, whole
from steno.agents.shell_text import FILE, unquoted
from steno.agents.stream import Sessions, record_parser

SESSION_FIELD = "session_id"
# Its snapshot of the user's shell, the command, and where that ended.
_SHELL_FORM = re.compile(
    rb"(?:source " + FILE + rb" 2>/dev/null \|\| true && )?"
    rb"(?:(?:shopt -u extglob|setopt NO_EXTENDED_GLOB) 2>/dev/null \|\| true && )?"
    rb"eval (?P<command>.+?)(?: \\?< /dev/null)? && pwd -P >\| " + FILE,
    re.DOTALL,
)


class Reader:
    def __init__(self) -> None:
        self._sessions = Sessions(SESSION_FIELD)
        self._has_spoken = False

    def read(self, found: JsonObject, span: Span) -> Iterable[Event] | None:
        told = self._sessions.started(found, span)
        match found.get("type"):
            case "assistant":
                told += self._said(found, span)
            case "user":
                told += _results(found, span)
        return told or None

    def ended(self, found: JsonObject, span: Span, *, ok: bool) -> list[Event]:
        told = self._sessions.started(found, span)
        subtype, result = text_at(found, "subtype"), text_at(found, "result")
        # The answer of a command of Claude Code's own is in no message.
        if ok and result and not self._has_spoken:
            told.append(AssistantText((span,), result))
        reason = subtype if ok else _errors(found) or result or subtype
        self._has_spoken = False
        return [*told, TurnEnded((span,), ok, reason)]

    def finish(self) -> Iterable[Event]:
        return ()

    def _said(self, found: JsonObject, span: Span) -> list[Event]:
        told: list[Event] = []
        for block in _blocks(found):
            text = text_at(block, "text")
            match at(block, "type"):
                case "text" if text and found.get("error"):
                    told.append(Failed((span,), text))
                case "text" if text and found.get("parent_tool_use_id") is None:
                    self._has_spoken = True
                    told.append(AssistantText((span,), text))
                case "tool_use" | "server_tool_use":
                    call, name = text_at(block, "id"), text_at(block, "name")
                    told.append(ToolCall((span,), call, name, at(block, "input")))
        return told


def _results(found: JsonObject, span: Span) -> list[Event]:
    return [
        ToolResult(
            (span,),
            text_at(block, "tool_use_id"),
            at(block, "is_error") is not True,
            text_of_parts(at(block, "content")),
        )
        for block in _blocks(found)
        if at(block, "type") == "tool_result"
    ]


def _blocks(found: JsonObject) -> list[object]:
    content = at(found, "message", "content")
    return content if isinstance(content, list) else []


def _errors(found: JsonObject) -> str:
    errors = found.get("errors")
    return (
        "; ".join(whole(error) for error in errors if isinstance(error, str))
        if isinstance(errors, list)
        else ""
    )


def runs_command(text: bytes, command: bytes) -> bool:
    """Whether the text of a shell is this command, as Claude Code wraps it."""
    found = _SHELL_FORM.fullmatch(text)
    return found is not None and unquoted(found["command"]) == command


PARSER = record_parser(SESSION_FIELD, Reader, text_markers=(b'"assistant"',))
