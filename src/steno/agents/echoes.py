"""Raw output, and which of it only repeats what the assistant said.

In: the events of an attempt. Out: the lines that no parser understood, and the blocks of three or more of
them in a row whose every line is a line of the assistant's. A block is left out of a translation, but never
without its byte ranges being told.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from steno.agents.streams.lines import ESCAPES
from steno.agents.streams.said import AssistantText, Event, Other, Span

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
