"""Which files a spool has recorded, and whether a record is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steno.bundle.folder import Folder
from steno.bundle.manifest import Completeness
from steno.evidence import layout

if TYPE_CHECKING:
    from steno.judge.facts import RunFacts


def completeness_of(facts: RunFacts) -> Completeness:
    return Completeness(facts.complete, facts.completed, sorted({gap.reason for gap in facts.gaps}))


def recorded_files(spool: Folder) -> list[str]:
    """Those that a seal takes over as they are: all but the indexes of the streams, which it joins."""
    return [path for path in layout.EVIDENCE_FILES if spool.has(path)]
