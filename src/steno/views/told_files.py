"""The derived JSON files of a bundle as they are: what makes `steno show --json` complete.

In: a run. Out: name of a file -> what it holds, for every derived JSON file that the summary does
not already tell under a name of its own. A run that is not sealed has none. Never changes what a file says,
and never reads the tables and streams, which have commands of their own.
"""

from __future__ import annotations

from typing import Any

from steno.evidence import layout
from steno.model.run import Run

# `run.json`, the health, the redactions, the hashes and the snapshots are in the summary
FILES = (layout.PROCESSES, layout.FILES, layout.CALLS, layout.SURFACE, layout.CORRELATION)


def told_files(run: Run) -> dict[str, Any]:
    if not run.is_sealed:
        return {}
    return {path: run.document(path) for path in FILES if run.documents.has(path)}
