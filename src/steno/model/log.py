"""The rows of what the recording tells of itself: its events and gaps, the streams, what programs told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steno.bundle.blobs import open_blobs
from steno.evidence import canonical, kinds, layout
from steno.evidence.claims import PolicyLine, SdkLine
from steno.evidence.layers import Layers
from steno.judge.terminal import recorded, tape_moments
from steno.judge.types import Json, Row
from steno.model.record import Record, checked, declared_gaps

_SURFACE = (
    "filesystem_prefixes",
    "filesystem_paths",
    "network_endpoints",
    "process_execs",
    "mcp_tools",
    "policy_decisions",
)


class Decision(Row, frozen=True):
    """What policy decided about a call of a tool, as its proxy told it."""

    seq: int
    tool_call_id: str
    tool: str
    server: str
    decision: str
    reason: str
    dry_run: bool
    outcome: str | None  # how the call ended; None where no end was seen
    started_ns: int
    ended_ns: int | None
    arguments: Json | None


class Message(Row, frozen=True):
    """What an agent or its framework said of itself: a claim, never a fact."""

    seq: int
    source: str
    kind: str
    told_ns: int | None  # when it says that it was
    tool_call_id: str | None
    tool: str | None
    server: str | None
    text: str | None
    input: Json | None
    output: Json | None


class Blob(Row, frozen=True):
    """A content that the record keeps. `before` and `after` of a file name it."""

    blob: str
    size: int
    encrypted: bool  # it holds a secret, and only the store that it was recorded in can read it


class Gap(Row, frozen=True):
    """What is missing from the record, and why."""

    reason: str
    detail: str
    lost_bytes: int | None


class LogEntry(Row, frozen=True):
    """An event of the recording itself, as it was recorded."""

    seq: int
    at_ns: int
    logged_at_ms: int
    kind: str
    data: Json


class Output(Row, frozen=True):
    """Bytes of a stream of the terminal, or of a pipe, as they came."""

    stream: str
    position: int
    at_ns: int
    data: bytes


class Capability(Row, frozen=True):
    """A name in the capability surface: what the run could do and did."""

    category: str
    entry: str


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
