"""The rows of what programs told: what policy decided, and what agents said of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steno.evidence import canonical
from steno.evidence.claims import PolicyLine, SdkLine
from steno.judge.types import Decision, Message


def decisions(lines: Iterable[PolicyLine]) -> Iterator[Decision]:
    for line in lines:
        told = line.steno
        yield Decision(
            seq=line.seq,
            tool_call_id=line.tool_call_id,
            tool=line.tool,
            server=told.server,
            decision=line.decision,
            reason=told.reason,
            dry_run=told.dry_run,
            outcome=told.outcome,
            started_ns=told.start_ns,
            ended_ns=told.end_ns,
            arguments=_json(told.arguments),
        )


def messages(lines: Iterable[SdkLine]) -> Iterator[Message]:
    for line in lines:
        told = line.steno
        yield Message(
            seq=line.seq,
            source=line.source,
            kind=line.event_type,
            told_ns=told.at_ns if told else None,
            tool_call_id=line.tool_call_id,
            tool=line.tool,
            server=told.server if told else None,
            text=told.message if told else None,
            input=_json(told.input) if told else None,
            output=_json(told.output) if told else None,
        )


def _json(value: Any) -> str | None:
    return None if value is None else canonical.encode(value).decode()
