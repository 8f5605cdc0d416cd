"""What a record consists of, and whether it is whole: what sealing writes down and verification asks again.

In: a folder, or the facts of a run. Out: the primary files that are there; the completeness that the events
give. Knows no redactor, so that a verifier needs none.
"""

from __future__ import annotations

from steno.bundle.folder import Folder
from steno.bundle.manifest import Completeness
from steno.evidence import layout
from steno.judge.facts import RunFacts


def completeness_of(facts: RunFacts) -> Completeness:
    return Completeness(facts.complete, facts.completed, sorted({gap.reason for gap in facts.gaps}))


def primary_files(folder: Folder) -> list[str]:
    """The files that are not made from others. An `output` without an index is made from the streams."""
    tapes = [
        path
        for tape in layout.TAPES
        for path in (tape, layout.index_of(tape))
        if folder.has(layout.index_of(tape))
    ]
    return [path for path in (*layout.PRIMARY_FILES, *tapes) if folder.has(path)]
