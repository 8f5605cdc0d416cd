"""The stream of `codex exec --json`.

In: records: a thread, its turns, and the items of a turn, which start and are completed. Out: the events. An
item that is only seen completed is a call and its result at once. An item of the type `error` is a warning:
Codex goes on after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from steno.agents.events import (
    AssistantText,
    Event,
    Failed,
    SessionStarted,
    Span,
    ToolCall,
    ToolResult,
    TurnEnded,
    Warned,
)
from steno.agents.json_lines import JsonObject, at, first_text, text_at, text_of_parts
from steno.agents.shell_text import unquoted
from steno.agents.stream import record_parser

SESSION_FIELD = "thread_id"
# Its snapshot, the variables that it keeps, and the shell that gets the command.
_VARIABLE = rb"\$\{\w+(?:[+-]x?)?\}"
_SHELL_FORM = re.compile(
    rb"(?:(?:"
    rb"|__CODEX_\w+=\"" + _VARIABLE + rb"\""
    rb"|if \. '[^'\n]*' >/dev/null 2>&1; then :; fi"
    rb"|if \[ -n \"(?:" + _VARIABLE + rb"|\$\w+)\" \](?: \|\| \[ -n \"" + _VARIABLE + rb"\" \])?; then"
    rb"|  if \[ -z \"" + _VARIABLE + rb"\" \] \|\| \[ \"" + _VARIABLE + rb"\" != \"" + _VARIABLE + rb"\" \];"
    rb" then export \w+=\"" + _VARIABLE + rb"\"; else export \w+; fi"
    rb"|(?:else )?builtin unset [\w ]+ 2>/dev/null \|\| command unset [\w ]+(?:; fi)?"
    rb"|if \[ -n \"\$\{PATH:-\}\" \]; then export PATH='[^'\n]*':\"\$PATH\"; else export PATH='[^'\n]*'; fi"
    rb"|fi"
    rb")\n)+exec '[^'\n]*/(?:ba|z|)sh' -l?c (?P<command>.+)",
    re.DOTALL,
)
# What is told of a call besides how it went, by the type of its item.
_INPUTS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "web_search": ("query", "action"),
}


class Reader:
    def __init__(self) -> None:
        self._begun: set[str] = set()

    def read(self, found: JsonObject, span: Span) -> Iterable[Event] | None:
        spans = (span,)
        match found.get("type"):
            case "thread.started" if session := text_at(found, SESSION_FIELD):
                return [SessionStarted(spans, session)]
            case "error":
                return [Failed(spans, text_at(found, "message"))]
            case "item.started" | "item.completed" as step:
                return self._item(found.get("item"), step == "item.completed", spans)
        return None

    def ended(self, found: JsonObject, span: Span, *, ok: bool) -> list[Event]:
        reason = first_text(found, ("error", "message"), ("message",), ("type",))
        return [TurnEnded((span,), ok, reason)]

    def finish(self) -> Iterable[Event]:
        return ()

    def _item(self, item: Any, is_completed: bool, spans: tuple[Span, ...]) -> list[Event] | None:
        kind = text_at(item, "type")
        if kind in _INPUTS:
            return self._call(item, is_completed, spans)
        if is_completed and kind == "agent_message":
            return [AssistantText(spans, text_at(item, "text"))]
        if is_completed and kind == "error":
            return [Warned(spans, text_at(item, "message"))]
        return None

    def _call(self, item: JsonObject, is_completed: bool, spans: tuple[Span, ...]) -> list[Event]:
        call = text_at(item, "id")
        told: list[Event] = []
        if call not in self._begun or not is_completed:
            told.append(ToolCall(spans, call, _name(item), _input(item)))
        self._begun.add(call)
        if is_completed:
            told.append(ToolResult(spans, call, _went_well(item), _output(item)))
            self._begun.discard(call)
        return told


def _name(item: JsonObject) -> str:
    names = (text_at(item, "server"), text_at(item, "tool"))
    return ".".join(filter(None, names)) or text_at(item, "type")


def _input(item: JsonObject) -> dict[str, Any]:
    return {name: item[name] for name in _INPUTS[item["type"]] if name in item}


def _went_well(item: JsonObject) -> bool:
    return item.get("status") in (None, "completed") and item.get("exit_code") in (None, 0)


def _output(item: JsonObject) -> str:
    said = first_text(item, ("aggregated_output",), ("error", "message"))
    return said or text_of_parts(at(item, "result", "content"))


def runs_command(text: bytes, command: bytes) -> bool:
    """Whether the text of a shell is this command, as Codex wraps it."""
    found = _SHELL_FORM.fullmatch(text)
    return found is not None and unquoted(found["command"]) == command


PARSER = record_parser(SESSION_FIELD, Reader, text_markers=(b'"agent_message"',))
