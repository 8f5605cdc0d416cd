"""The derived JSON files of a bundle as they are: what makes `steno show --json` complete.

In: an open record. Out: name of a file -> what it holds, for every derived JSON file that the summary does
not already tell under a name of its own. A run that is not sealed has none. Never changes what a file says,
and never reads the tables and streams, which have commands of their own.
"""

from __future__ import annotations

from typing import Any

from steno.bundle.store import RunState
from steno.evidence import layout
from steno.model.kernel_layer import read_json
from steno.model.record import Record

# `run.json`, the health, the redactions, the hashes and the snapshots are in the summary
FILES = (layout.PROCESSES, layout.FILES, layout.CALLS, layout.SURFACE, layout.CORRELATION)


def told_files(record: Record) -> dict[str, Any]:
    if record.state is not RunState.SEALED:
        return {}
    return {path: read_json(record.files, path, dict) for path in FILES if record.files.has(path)}
