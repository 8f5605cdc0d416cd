"""Everything that is known of one run, as data: what `steno show --json` prints.

In: an open record. Out: plain JSON data made by the same derivations that a seal uses, so a run that is not
sealed shows its facts so far in the same shape. Never verifies, never reads a whole stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steno.contracts.capture_run import hashes
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import RepoSnapshot
from steno.judge import streams, summaries
from steno.model import so_far
from steno.model.record import Record, readable
from steno.views import calls_text
from steno.views.kernel_summary import kernel

SCHEMA = "steno.show.v1"


def summary(record: Record, path: Path) -> dict[str, Any]:
    """`path` is where the user finds the record, which for a packed one is not where it is read."""
    with readable(record.run):
        return _summary(record, path)


def _summary(record: Record, path: Path) -> dict[str, Any]:
    layers = record.layers
    return {
        "schema": SCHEMA,
        "run_id": record.run_id,
        "state": str(record.state),
        "path": str(path),
        "root": record.manifest.root if record.manifest else None,
        "completeness": so_far.completeness(record),
        "gaps": so_far.gaps(record),
        "run": _parsed(summaries.run(layers)),
        "command_ns": record.facts.command_ns,
        "health": so_far.health(record),
        "redactions": _parsed(summaries.redaction_report(layers)),
        "hashes": hashes(record),
        "repo": {
            "before": _snapshot(record.facts.before),
            "after": _snapshot(record.facts.after),
            "changes": _changes(record),
        },
        "terminal": terminal(record),
        "kernel": kernel(record),
        "calls": calls_text.summary(record),
    }


def lasted_ns(found: dict[str, Any]) -> int:
    """How long the command took; where its start or its end was not seen, how long it was recorded."""
    command: int | None = found["command_ns"]
    recorded: int = found["run"]["duration_ns"]
    return recorded if command is None else command


def terminal(record: Record) -> dict[str, Any]:
    """How much went over each stream, how often the size changed, and who left early."""
    events = [event.data for event in record.layers.events()]
    return {
        "bytes": {tape.rpartition("/")[2]: record.layers.size(tape) for tape in _tapes(record)},
        "arrivals": {tape.rpartition("/")[2]: _arrivals(record, tape) for tape in _tapes(record)},
        "resizes": sum(isinstance(data, kinds.TerminalResized) for data in events),
        "closed": [msgspec.to_builtins(data) for data in events if isinstance(data, kinds.StreamClosed)],
        "signals": [
            msgspec.to_builtins(data) for data in events if isinstance(data, kinds.RecorderSignalled)
        ],
        "stops": sum(isinstance(data, kinds.CommandStopped) for data in events),
    }


def _changes(record: Record) -> Any:
    """The changed files; in a spool the list is whole once the event that follows it is there."""
    whole = record.manifest is not None or record.facts.after is not None
    return record.layers.json(layout.CHANGES) if whole and record.layers.has(layout.CHANGES) else None


def _tapes(record: Record) -> list[str]:
    return streams.recorded(record.layers)


def _arrivals(record: Record, tape: str) -> int:
    return sum(1 for _ in record.layers.arrivals(tape))


def _snapshot(snapshot: RepoSnapshot | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = msgspec.to_builtins(snapshot) if snapshot is not None else None
    return found


def _parsed(blocks: Iterator[bytes]) -> Any:
    return canonical.decode(b"".join(blocks))
