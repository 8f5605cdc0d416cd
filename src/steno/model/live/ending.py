"""How a run that was followed ended, as its record tells it: nothing that is found there raises."""

from __future__ import annotations

from typing import Any, NamedTuple

from steno.bundle.folder import Folder
from steno.bundle.manifest import completeness_of
from steno.bundle.reader import FolderLayers, open_sealed
from steno.bundle.store import RunState
from steno.judge.facts import RunFacts
from steno.model import runs


class End(NamedTuple):
    run_id: str
    state: RunState
    exit_code: int | None = None
    signal: str | None = None
    duration_ns: int | None = None
    complete: bool = False
    gaps: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"what": "end", **self._asdict(), "state": str(self.state)}


def end_of(run: Folder, state: RunState) -> End:
    """`state` is what was seen of the record when the run ended."""
    row = runs.row_of(run, run.path.name)
    if state is not RunState.SEALED or row.state is not RunState.SEALED:
        return End(row.run_id, RunState.DAMAGED if state is RunState.SEALED else state)
    try:
        manifest, sealed = open_sealed(run)
        gaps = completeness_of(RunFacts.of(FolderLayers(sealed, manifest.run_id))).gaps
    except (OSError, ValueError):
        return End(row.run_id, RunState.DAMAGED)
    return End(
        row.run_id,
        state,
        row.exit_code,
        row.signal,
        row.duration_ns if row.command_ns is None else row.command_ns,
        complete=bool(row.complete),
        gaps=tuple(gaps),
    )
