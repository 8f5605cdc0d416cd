"""The rows of the list of runs, read again only where something can have changed.

In: a store. Out: every run as data, newest first. A sealed run does not change, so its row is kept for as
long as its manifest is the same file. Never holds more rows than the store has runs. Used by one connection
at a time.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from steno.evidence import layout
from steno.model import runs
from steno.views import listing

_Key = tuple[int, int, int]


class Listed:
    def __init__(self, store: Path) -> None:
        self._store = store
        self._known: dict[str, tuple[_Key, dict[str, Any]]] = {}
        self._lock = Lock()

    def rows(self) -> list[dict[str, Any]]:
        with self._lock:
            found = {run_id: self._row(run_id) for run_id in runs.run_ids(self._store)}
            self._known = {run_id: known for run_id, known in self._known.items() if run_id in found}
            return list(found.values())

    def _row(self, run_id: str) -> dict[str, Any]:
        key = _manifest(self._store / run_id)
        known = self._known.get(run_id)
        if known is not None and known[0] == key:
            return known[1]
        row = runs.row(self._store, run_id)
        told = {**listing.to_json(row), "title": row.title}
        if key is not None and row.state is runs.RunState.SEALED:
            self._known[run_id] = (key, told)
        return told


def _manifest(run: Path) -> _Key | None:
    try:
        found = (run / layout.MANIFEST).lstat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
