"""The rows of what the recording tells of itself: its events and gaps, the streams, what programs told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steno.bundle.blobs import open_blobs
from steno.evidence import canonical, kinds, layout
from steno.evidence.claims import PolicyLine, SdkLine
from steno.evidence.layers import Layers
from steno.judge.terminal import recorded, tape_moments
from steno.judge.types import Blob, Capability, Decision, Gap, LogEntry, Message, Output
from steno.model.record import Record, checked, declared_gaps

_SURFACE = (
    "filesystem_prefixes",
    "filesystem_paths",
    "network_endpoints",
    "process_execs",
    "mcp_tools",
    "policy_decisions",
)


def gaps(record: Record) -> Iterator[Gap]:
    for gap in declared_gaps(record):
        yield Gap(gap["reason"], gap["detail"], gap.get("lost_bytes"))


def log(record: Record) -> Iterator[LogEntry]:
    for event in record.layers.events():
        raw = kinds.to_json(event)
        data = canonical.encode(raw["data"]).decode()
        yield LogEntry(event.seq, event.mono_ns, event.ts_ms, event.type, data)


def output(record: Record) -> Iterator[Output]:
    for tape in recorded(record.layers):
        yield from _pieces(record.layers, tape)


def _pieces(layers: Layers, tape: str) -> Iterator[Output]:
    name, position = tape.rpartition("/")[2], 0
    for moment in tape_moments(layers, tape):
        yield Output(name, position, moment.mono_ns, moment.data)
        position += len(moment.data)


def surface(record: Record) -> Iterator[Capability]:
    told = record.documents.judgement.surface
    for category in _SURFACE:
        yield from (Capability(category, entry) for entry in getattr(told, category))


def blobs(record: Record) -> Iterator[Blob]:
    if not record.run.has(layout.BLOBS):
        return
    with checked(record.run, layout.BLOBS), open_blobs(record.run) as kept:
        for blob, size, encrypted in kept.sizes():
            yield Blob(blob, size, encrypted)


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
