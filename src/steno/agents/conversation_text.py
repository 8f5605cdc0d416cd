"""Level 3 of a translation: the conversation as Markdown, for people.

In: an attempt whose every word a stranger may have chosen. Out: Markdown. All foreign text stands in code,
in fences that it cannot close, and what a terminal would act on is spelled out. Long output is cut, and
what is cut or left out is said with its place in the audit files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from steno.agents.attempt import Attempt
from steno.agents.echoes import raw_of
from steno.agents.streams.said import (
    AssistantText,
    Event,
    Failed,
    Other,
    Span,
    ToolCall,
    ToolResult,
    TurnEnded,
    Warned,
)
from steno.text.markdown import code
from steno.text.safe import visible
from steno.text.units import counted

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
