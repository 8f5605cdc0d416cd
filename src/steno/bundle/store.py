"""The store: where runs live, and which run a word on the command line means.

A run is `running` (its recorder is alive), `orphaned` (its command goes on, and only the observer of the
kernel is left), `unsealed` (a spool that nobody writes) or `sealed`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from steno.bundle.folder import Folder
from steno.bundle.lock import is_live, is_orphaned
from steno.errors import RunNotFoundError, StoreError
from steno.evidence import layout
from steno.evidence.run_id import is_run_id

LAST = "@last"
UNPUBLISHED = ".new-"
_SHOWN = 5


class RunState(StrEnum):
    RUNNING = "running"
    ORPHANED = "orphaned"
    UNSEALED = "unsealed"
    SEALED = "sealed"
    DAMAGED = "damaged"


def store_path(environ: Mapping[str, str], chosen: str | None = None) -> Path:
    if chosen:
        return Path(chosen)
    if home := environ.get("STENO_HOME"):
        return Path(home)
    if data := environ.get("XDG_DATA_HOME"):
        return Path(data) / "steno" / "runs"
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - unlike pathlib's, it does not raise
    if home.startswith(os.sep):
        return Path(home) / ".local" / "share" / "steno" / "runs"
    raise StoreError(
        "there is no place for the record: STENO_HOME, XDG_DATA_HOME and HOME are unset",
        hint="name one with --store DIR or STENO_HOME",
    )


def create_run_folder(store: Path, run_id: str) -> Folder:
    """Make the run's folder, private to the user. It has a hidden name until its first event is kept."""
    try:
        store.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = store / f"{UNPUBLISHED}{run_id}"
        path.mkdir(mode=0o700)
        return Folder(path, follow=False)
    except OSError as error:
        raise StoreError(
            f"cannot write to the store {store}: {error.strerror}",
            hint="choose another place with --store DIR or STENO_HOME",
        ) from error


def publish_run_folder(run: Folder, run_id: str) -> Folder:
    path = run.path.with_name(run_id)
    run.path.rename(path)
    run.close()
    return Folder(path, follow=False)


def run_ids(store: Path) -> Iterator[str]:
    """The runs of a store, newest first."""
    try:
        names = os.listdir(store)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"cannot read the store {store}: {error.strerror}", hint="check --store") from error
    yield from sorted((name for name in names if is_run_id(name)), reverse=True)


def earlier_runs(store: Path) -> dict[str, tuple[int, int] | None]:
    """Those that can be reached now, with size and time of what seals them; none in a store that cannot be
    read any more."""
    try:
        return {run_id: _seal_of(store / run_id) for run_id in run_ids(store)}
    except StoreError:
        return {}


def _seal_of(run: Path) -> tuple[int, int] | None:
    try:
        found = (run / layout.MANIFEST).lstat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def find_run(store: Path, word: str) -> Path:
    if not word:
        raise RunNotFoundError("the run's name is empty", hint="`steno list` shows the runs")
    if word != LAST and ("/" in word or word in {".", ".."} or os.path.lexists(word)):
        return _existing(Path(word))
    runs = list(run_ids(store))
    if word == LAST:
        if not runs:
            raise RunNotFoundError(
                f"there is no run in {store}", hint="record one with `steno run -- COMMAND`"
            )
        return store / runs[0]
    found = [run_id for run_id in runs if run_id.startswith(word)]
    if len(found) == 1 or word in found:
        return store / (word if word in found else found[0])
    if not found:
        raise RunNotFoundError(f"no run in {store} begins with {word!r}", hint="`steno list` shows the runs")
    some = ", ".join(found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
    raise RunNotFoundError(f"{word!r} could be any of {len(found)} runs: {some}", hint="give more of the id")


def state_of(run: Folder) -> RunState:
    if run.has_folder(layout.SPOOL):
        if not is_live(run):
            return RunState.UNSEALED
        return RunState.ORPHANED if is_orphaned(run) else RunState.RUNNING
    return RunState.SEALED if run.has(layout.MANIFEST) else RunState.DAMAGED


def _existing(path: Path) -> Path:
    if not os.path.lexists(path):  # what is there and cannot be opened is not "not found"
        raise RunNotFoundError(f"there is no run at {path}", hint="`steno list` shows the runs of the store")
    return path
