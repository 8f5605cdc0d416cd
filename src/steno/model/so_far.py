"""What can be said of a run that is not sealed: its gap, and how far it is observed so far.

In: an open record. Out: gaps and the data of `observation-health.json`, as the seal would make them where
that is known already. A run that is watched is never called unobserved, because what the kernel saw is told
at the end. Of a sealed run they are the record's own. Never reads the frames: they are secret until then.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from steno.bundle.folder import Folder
from steno.bundle.lock import KERNEL
from steno.bundle.store import RunState
from steno.evidence import layout
from steno.judge import health as healths
from steno.judge.health import ABSENT, Health
from steno.model.record import Record

UNSEALED = "unsealed"
SO_FAR = "so far"
NOT_TOLD_YET = "not told yet"
_WHY = {
    RunState.RUNNING: "it is still being recorded, and nothing is sealed yet",
    RunState.ORPHANED: "its recorder is gone, its command goes on, and nothing is sealed yet",
    RunState.UNSEALED: "its recorder is gone, and nothing is sealed yet",
}

Data = dict[str, Any]


def gaps(record: Record) -> list[Data]:
    found: list[Data] = [msgspec.to_builtins(gap) for gap in record.facts.gaps]
    if record.state in _WHY:
        found.insert(0, {"reason": UNSEALED, "detail": _WHY[record.state]})
    return found


def completeness(record: Record) -> Data:
    found = record.completeness
    if record.state not in _WHY:
        return found
    return {**found, "complete": False, "gaps": sorted({*found["gaps"], UNSEALED})}


def health(record: Record) -> Health:
    if record.state not in _WHY:
        return record.documents.judgement.health
    found = healths.health(record.layers)
    own = replace(found.steno, gaps=sorted({*found.steno.gaps, UNSEALED}))
    if own.kernel_layer == ABSENT and is_watched(record.run):
        own = replace(own, kernel_layer=SO_FAR, observer=NOT_TOLD_YET)
        notes = [note for note in found.notes if not note.startswith(f"kernel_layer_{ABSENT}")]
        found = replace(found, kernel_layer=SO_FAR, notes=notes)
    return replace(found, steno=own)


def is_watched(run: Folder) -> bool:
    """Whether the spool has frames of the kernel's observer."""
    place = f"{layout.SPOOL}/{KERNEL}"
    if not run.has_folder(place):
        return False
    with run.sub(place) as frames:
        return any(frames.has(name) and frames.size(name) for name in frames.names())
