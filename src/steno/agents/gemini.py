"""The stream of `gemini -o stream-json`, and the document of `gemini -o json`.

In: records: the assistant's words in pieces (`delta`), calls, their results, and a `result` at the end; or
one document with the session, and the `response` or the `error`, on stderr or, with newer ones, on stdout.
Out: the events. Pieces that follow each other are one text, which keeps the places of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
from steno.agents.json_lines import JsonObject, first_text, text_at
from steno.agents.shell_text import FILE
from steno.agents.stream import record_parser

SESSION_FIELD = "session_id"
# Where it wants the background jobs told, and the command as it is in a shell of its own.
_SHELL_FORM = re.compile(
    rb"shopt -u promptvars nullglob extglob nocaseglob dotglob; _bgpids_file=" + FILE + rb"\n\(\n"
    rb"  trap 'jobs -p > \"\$_bgpids_file\"' EXIT\n(?P<command>.+)\n\)\n__code=\$\?\nexit \$__code",
    re.DOTALL,
)


def is_document(found: JsonObject) -> bool:
    return (
        "type" not in found
        and bool(session_of(found))
        and (isinstance(found.get("response"), str) or isinstance(found.get("error"), dict))
    )


def session_of(found: JsonObject) -> str:
    return text_at(found, SESSION_FIELD)


class Reader:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._spans: list[Span] = []

    def read(self, found: JsonObject, span: Span) -> Iterable[Event] | None:
        if found.get("type") == "message" and found.get("role") == "assistant":
            before = [] if found.get("delta") is True else self.finish()
            self._pieces.append(text_at(found, "content"))
            self._spans.append(span)
            return before
        if is_document(found):
            return [*self.finish(), *_answered(found, span)]
        told = _told(found, span)
        return told if told is None else [*self.finish(), told]

    def ended(self, found: JsonObject, span: Span, *, ok: bool) -> list[Event]:
        if is_document(found):
            reason = "response" if ok else _error(found)
            return [*self.finish(), *_answered(found, span), TurnEnded((span,), ok, reason)]
        reason = text_at(found, "status") if ok else _error(found) or text_at(found, "status")
        return [*self.finish(), TurnEnded((span,), ok, reason)]

    def finish(self) -> list[Event]:
        text, spans = "".join(self._pieces), tuple(self._spans)
        self._pieces, self._spans = [], []
        return [AssistantText(spans, text)] if spans else []


def _answered(found: JsonObject, span: Span) -> Iterator[Event]:
    yield SessionStarted((span,), session_of(found))
    if answer := text_at(found, "response"):
        yield AssistantText((span,), answer)


def _told(found: JsonObject, span: Span) -> Event | None:
    spans = (span,)
    match found.get("type"):
        case "init" if session := text_at(found, SESSION_FIELD):
            return SessionStarted(spans, session)
        case "tool_use":
            call, name = text_at(found, "tool_id"), text_at(found, "tool_name")
            return ToolCall(spans, call, name, found.get("parameters"))
        case "tool_result":
            ok = found.get("status") == "success"
            text = text_at(found, "output") if ok else _error(found) or text_at(found, "output")
            return ToolResult(spans, text_at(found, "tool_id"), ok, text)
        case "error":
            told = Warned if found.get("severity") == "warning" else Failed
            return told(spans, _error(found))
    return None


def _error(found: JsonObject) -> str:
    return first_text(found, ("error", "message"), ("message",))


def runs_command(text: bytes, command: bytes) -> bool:
    """Whether the text of a shell is this command, as Gemini CLI wraps it, trimmed."""
    found = _SHELL_FORM.fullmatch(text)
    trimmed = command.strip()
    # A space behind a last backslash keeps it from joining two lines.
    wrapped = trimmed + b" " if trimmed.endswith(b"\\") else trimmed
    return found is not None and found["command"] == wrapped


PARSER = record_parser(SESSION_FIELD, Reader, is_document=is_document)
