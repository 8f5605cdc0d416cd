"""What an agent said, in three levels of telling, made from the audit files of an attempt and nothing else.

Level 1 is JSON lines, what the parser understood and what it did not; level 2 is `fcmp/1.0` envelopes, one
a line; level 3 is Markdown, in which all foreign text stands in code. Level 0 is the agent's own output, of
which nothing is made here. The same files always give the same words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from steno.agents.definition import TerminalSignal
from steno.agents.events import (
    AssistantText,
    Event,
    Failed,
    Other,
    SessionStarted,
    Span,
    ToolCall,
    ToolResult,
    TurnEnded,
    Warned,
)
from steno.agents.json_lines import ESCAPES
from steno.agents.stream import Session, read, session_of
from steno.contracts.agent_audit.completion import rules_of
from steno.contracts.agent_audit.meta import Meta
from steno.errors import BadRequestError
from steno.text.markdown import code
from steno.text.safe import visible, visible_json
from steno.text.units import counted


class Attempt(Struct, frozen=True, kw_only=True, dict=True):
    run_id: str
    number: int
    agent: str
    stream: str  # the name of the parser
    stdout: bytes
    stderr: bytes
    state: str
    reason_code: str
    exit_code: int | None
    signal: str | None = None
    session_field: str | None = None
    terminal_signals: tuple[TerminalSignal, ...] = ()

    @cached_property
    def events(self) -> list[Event]:
        return read(self.stream, self.stdout, self.stderr, self.terminal_signals)

    @cached_property
    def session(self) -> Session:
        return session_of(self.stream, [self.stdout], [self.stderr], field=self.session_field)


def attempt_of(meta: Meta, session_field: str | None, stdout: bytes, stderr: bytes) -> Attempt:
    completion = meta.protocol.completion or {}
    rules = rules_of(meta.steno.rules)
    return Attempt(
        run_id=meta.run_id,
        number=meta.attempt.number,
        agent=meta.agent_name,
        stream=rules.parser,
        stdout=stdout,
        stderr=stderr,
        state=completion.get("state", "unknown"),
        reason_code=completion.get("reasonCode", ""),
        exit_code=meta.exit_code,
        signal=meta.signal,
        session_field=session_field,
        terminal_signals=tuple(rules.terminal_signals),
    )


LEAST_ECHO = 3


class Raw(NamedTuple):
    kept: list[Other]
    echoes: list[Span]  # one for each block
    echoed_lines: int


def raw_of(events: Iterable[Event]) -> Raw:
    events = list(events)
    said = {
        _bare(line)
        for event in events
        if isinstance(event, AssistantText)
        for line in event.text.split("\n")
        if _bare(line)
    }
    found = Raw([], [], 0)
    raw = (event for event in events if isinstance(event, Other) and event.kind is None)
    for (_, is_echo), lines in groupby(raw, key=lambda line: (line.spans[0].stream, _is_echo(line, said))):
        block = list(lines)
        if is_echo and len(block) >= LEAST_ECHO:
            first, last = block[0].spans[0], block[-1].spans[0]
            found.echoes.append(Span(first.stream, first.byte_from, last.byte_to))
            found = found._replace(echoed_lines=found.echoed_lines + len(block))
        else:
            found.kept.extend(block)
    return found


def _is_echo(line: Other, said: set[str]) -> bool:
    return not line.cut and _bare(line.raw) in said


def _bare(line: str) -> str:
    return ESCAPES.sub(b"", line.encode("utf-8", "replace")).decode().strip()


MAX_LINES = 40  # of a tool's output, and of raw output
MAX_WIDTH = 2000  # of a line of it
_LEAST_FENCE = 3


def conversation(attempt: Attempt) -> Iterator[str]:
    yield from _head(attempt)
    for event in attempt.events:
        yield from _section(event)
    yield from _raw(attempt)
    yield from _end(attempt)


def _head(attempt: Attempt) -> Iterator[str]:
    session = attempt.session
    yield f"# {code(attempt.agent)}, attempt {attempt.number}\n"
    yield "\n"
    yield f"- run: {code(attempt.run_id)}\n"
    known = code(session.value) if session.value else "not found"
    yield f"- session: {known}\n"


def _section(event: Event) -> Iterator[str]:
    match event:
        case AssistantText():
            yield from _titled("Assistant", event.text)
        case ToolCall():
            yield f"\n## Call {code(event.id)} of {code(event.name)}\n"
            asked = json.dumps(event.input, ensure_ascii=False, indent=2)
            yield from _cut(asked.split("\n"), event.spans, "json")
        case ToolResult():
            yield f"\n{code(event.id)} {'went well' if event.ok else 'failed'}.\n"
            yield from _cut(event.text.split("\n"), event.spans)
        case Warned():
            yield from _titled("Warning", event.reason)
        case Failed():
            yield from _titled("Error", event.reason)
        case TurnEnded(ok=False):
            yield from _titled("The turn failed", event.reason)


def _raw(attempt: Attempt) -> Iterator[str]:
    raw = raw_of(attempt.events)
    for stream in ("stdout", "stderr"):
        lines = [line for line in raw.kept if line.spans[0].stream == stream]
        if lines:
            yield f"\n## Other output on {stream}\n"
            yield from _cut([line.raw for line in lines], _around(lines))
    if raw.echoes:
        said = counted(raw.echoed_lines, "line")
        yield f"\nLeft out, as it only repeats the assistant: {said}, {_places(raw.echoes)}.\n"


def _end(attempt: Attempt) -> Iterator[str]:
    if attempt.signal:
        left = f"signal {code(attempt.signal)}"
    else:
        left = "exit code unknown" if attempt.exit_code is None else f"exit code {attempt.exit_code}"
    yield f"\n## End\n\n{code(attempt.state)} ({code(attempt.reason_code)}), {left}.\n"


def _titled(title: str, text: str) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield from _fenced(text.split("\n"), "text")


def _cut(lines: list[str], spans: Iterable[Span], language: str = "text") -> Iterator[str]:
    if not any(lines):
        return
    yield from _fenced([_narrow(line) for line in lines[:MAX_LINES]], language)
    more = len(lines) - MAX_LINES
    if more > 0 or any(len(line) > MAX_WIDTH for line in lines):
        said = f"{counted(more, 'more line')}: " if more > 0 else "Cut; all of it: "
        yield f"\n{said}{_places(spans)}.\n"


def _fenced(lines: list[str], language: str) -> Iterator[str]:
    text = "\n".join(map(_seen, lines)).rstrip("\n")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(_LEAST_FENCE, longest + 1)
    yield f"\n{fence}{language}\n{text}\n{fence}\n"


def _seen(line: str) -> str:
    """Tabs are left as they are: in code they mean something, and to a terminal no harm."""
    return "\t".join(map(visible, line.removesuffix("\r").split("\t")))


def _narrow(line: str) -> str:
    return line if len(line) <= MAX_WIDTH else line[:MAX_WIDTH] + "…"


def _around(lines: list[Other]) -> list[Span]:
    first, last = lines[0].spans[0], lines[-1].spans[0]
    return [Span(first.stream, first.byte_from, last.byte_to)]


def _places(spans: Iterable[Span]) -> str:
    return ", ".join(f"bytes {span.byte_from} to {span.byte_to} of {span.stream}" for span in spans)


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
    yield _end_body(attempt)


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


def _end_body(attempt: Attempt) -> Body:
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


def translate(attempt: Attempt, level: int) -> Iterator[str]:
    try:
        chosen = LEVELS[level]
    except KeyError:
        raise BadRequestError(
            f"there is no level {level} of translation", hint="it is 0, 1, 2 or 3"
        ) from None
    return chosen(attempt)


def structured(attempt: Attempt) -> Iterator[dict[str, Any]]:
    """First the attempt itself, then every event in order."""
    yield {
        "type": "attempt",
        "run_id": attempt.run_id,
        "attempt": attempt.number,
        "engine": attempt.agent,
        "parser": attempt.stream,
        "session": msgspec.to_builtins(attempt.session),
        "completion": {"state": attempt.state, "reason_code": attempt.reason_code},
        "exit_code": attempt.exit_code,
        "signal": attempt.signal,
    }
    for event in attempt.events:
        yield msgspec.to_builtins(event)


def _nothing(_: Attempt) -> Iterator[str]:
    return iter(())


def _json_lines(values: Iterable[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        yield visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + "\n"


LEVELS: Mapping[int, Callable[[Attempt], Iterator[str]]] = {
    0: _nothing,
    1: lambda attempt: _json_lines(structured(attempt)),
    2: lambda attempt: _json_lines(envelopes(attempt)),
    3: conversation,
}
