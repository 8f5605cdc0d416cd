"""Everything that is known of one run, as data: what `steno show --json` prints.

In: a run. Out: plain JSON data made by the same derivations that a seal uses, so a run that is not
sealed shows its facts so far in the same shape. Never verifies, never reads a whole stream.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from steno.contracts.capture_run import hashes
from steno.evidence import kinds, layout
from steno.evidence.kinds import RepoSnapshot
from steno.model.record import readable
from steno.model.run import Run
from steno.model.table_documents import DOCUMENTS
from steno.views import calls_text
from steno.views.kernel_summary import kernel

SCHEMA = "steno.show.v1"


def summary(run: Run, path: Path) -> dict[str, Any]:
    """`path` is where the user finds the record, which for a packed one is not where it is read."""
    with readable(run.folder):
        return _summary(run, path)


def _summary(run: Run, path: Path) -> dict[str, Any]:
    run.expect(*DOCUMENTS)
    return {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "state": str(run.state),
        "path": str(path),
        "root": run.root,
        "completeness": run.completeness,
        "gaps": run.declared_gaps,
        "run": run.document(layout.RUN),
        "command_ns": run.facts.command_ns,
        "health": msgspec.to_builtins(run.health),
        "redactions": run.document(layout.REDACTION_REPORT),
        "hashes": hashes(run),
        "repo": {
            "before": _snapshot(run.facts.before),
            "after": _snapshot(run.facts.after),
            "changes": run.git_changes,
        },
        "terminal": terminal(run),
        "kernel": kernel(run),
        "calls": calls_text.summary(run),
    }


def lasted_ns(found: dict[str, Any]) -> int:
    """How long the command took; where its start or its end was not seen, how long it was recorded."""
    command: int | None = found["command_ns"]
    recorded: int = found["run"]["duration_ns"]
    return recorded if command is None else command


def terminal(run: Run) -> dict[str, Any]:
    """How much went over each stream, how often the size changed, and who left early."""
    events = [event.data for event in run.evidence.events()]
    return {
        "bytes": {tape.rpartition("/")[2]: run.evidence.size(tape) for tape in run.streams},
        "arrivals": {tape.rpartition("/")[2]: _arrivals(run, tape) for tape in run.streams},
        "resizes": sum(isinstance(data, kinds.TerminalResized) for data in events),
        "closed": [msgspec.to_builtins(data) for data in events if isinstance(data, kinds.StreamClosed)],
        "signals": [
            msgspec.to_builtins(data) for data in events if isinstance(data, kinds.RecorderSignalled)
        ],
        "stops": sum(isinstance(data, kinds.CommandStopped) for data in events),
    }


def _arrivals(run: Run, tape: str) -> int:
    return sum(1 for _ in run.evidence.arrivals(tape))


def _snapshot(snapshot: RepoSnapshot | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = msgspec.to_builtins(snapshot) if snapshot is not None else None
    return found
