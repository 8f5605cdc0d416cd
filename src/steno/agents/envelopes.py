"""Level 2 of a translation: the messages of a conversation in `fcmp/1.0` envelopes.

In: an attempt. Out: one envelope after another: the start, what the assistant said, the warnings, the raw
lines of stdout and of stderr, and how it ended. What a message was made from stands in its `raw_refs`.
Calls of tools have no type in this protocol; level 1 has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from steno.agents.attempt import Attempt
from steno.agents.echoes import Raw, raw_of
from steno.agents.streams.said import AssistantText, Event, Failed, SessionStarted, Span, TurnEnded, Warned

PROTOCOL = "fcmp/1.0"
Body = tuple[str, dict[str, Any]]  # the type and the data
_WARNING = "diagnostic.warning"


def envelopes(attempt: Attempt) -> Iterator[dict[str, Any]]:
    for seq, (kind, data) in enumerate(_bodies(attempt), 1):
        yield {
            "protocol_version": PROTOCOL,
            "run_id": attempt.run_id,
            "seq": seq,
            "engine": attempt.agent,
            "type": kind,
            "data": data,
            "meta": {"attempt": attempt.number},
        }


def _bodies(attempt: Attempt) -> Iterator[Body]:
    raw = raw_of(attempt.events)
    yield from _start(attempt)
    yield from _messages(attempt)
    yield from _warnings(attempt, raw)
    for stream in ("stdout", "stderr"):
        for line in raw.kept:
            if line.spans[0].stream == stream:
                cut = {"cut": True} if line.cut else {}
                yield f"raw.{stream}", {"line": line.raw, **cut, **_refs(line.spans)}
    yield _end(attempt)


def _start(attempt: Attempt) -> Iterator[Body]:
    session = attempt.session.value
    if session is not None:
        told = (event for event in attempt.events if isinstance(event, SessionStarted))
        spans = next((event.spans for event in told if event.session == session), ())
        yield "conversation.started", {"session_id": session, **_refs(spans)}


def _messages(attempt: Attempt) -> Iterator[Body]:
    said = (event for event in attempt.events if isinstance(event, AssistantText) and event.text.strip())
    for number, event in enumerate(said, 1):
        message = f"m_{attempt.number}_{number}"
        yield "assistant.message.final", {"message_id": message, "text": event.text, **_refs(event.spans)}


def _warnings(attempt: Attempt, raw: Raw) -> Iterator[Body]:
    if attempt.session.value is None:
        yield _WARNING, {"code": "SESSION_ID_NOT_FOUND"}
    for event in attempt.events:
        code, message = _trouble(event)
        if code:
            yield _WARNING, {"code": code, "message": message, **_refs(event.spans)}
    if any(line.spans[0].stream == "stdout" for line in raw.kept):
        yield _WARNING, {"code": "UNPARSED_CONTENT_FELL_BACK_TO_RAW"}
    if raw.echoes:
        counted = {"suppressed_count": raw.echoed_lines}
        yield _WARNING, {"code": "RAW_DUPLICATE_SUPPRESSED", **counted, **_refs(raw.echoes)}


def _trouble(event: Event) -> tuple[str, str]:
    match event:
        case Warned():
            return "AGENT_WARNING", event.reason
        case Failed():
            return "AGENT_ERROR", event.reason
        case TurnEnded(ok=False):
            return "TURN_FAILED", event.reason
    return "", ""


def _end(attempt: Attempt) -> Body:
    match attempt.state:
        case "completed":
            return "conversation.completed", {"state": "completed", "reason_code": attempt.reason_code}
        case "awaiting_user_input":
            return "user.input.required", {"kind": "free_text", "prompt": "Provide next user turn"}
        case "interrupted":
            error = {"category": "runtime", "code": attempt.reason_code}
            return "conversation.failed", {
                "error": error,
                "exit_code": attempt.exit_code,
                "signal": attempt.signal,
            }
    return _WARNING, {"code": "INCOMPLETE_STATE_CLASSIFICATION", "reason_code": attempt.reason_code}


def _refs(spans: Sequence[Span] | Iterable[Span]) -> dict[str, Any]:
    return {"raw_refs": [msgspec.to_builtins(span) for span in spans]}
