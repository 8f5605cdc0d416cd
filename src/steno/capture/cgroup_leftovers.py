"""Cgroups of runs that are over, whose recorder was killed or whose processes stayed: found and removed.

In: nothing, or the id of one run. Out: what was done to each cgroup of this user that bears the name of a
run; root sees to everybody's. One that holds a process, or whose recorder is alive, is left and told. Never
ends a process.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from steno.capture.cgroup import (
    MAX_DEPTH,
    PREFIX,
    Refusal,
    is_populated,
    names_below,
    opened,
    own_hierarchy,
    remove_cgroup,
)
from steno.evidence.run_id import is_run_id


class Done(StrEnum):
    REMOVED = "removed"
    IN_USE = "in_use"
    FAILED = "failed"


class Leftover(NamedTuple):
    path: str  # below the mount of cgroup v2
    done: Done
    says: str


def remove_leftovers(run_id: str | None = None) -> Iterator[Leftover]:
    """Of one run, or of every run."""
    hierarchy = own_hierarchy()
    if isinstance(hierarchy, Refusal):
        return
    with suppress(OSError), opened(str(hierarchy.mount)) as top:  # then there is nothing to be seen
        for above, place, name in _named_for_runs(top):
            if (run_id is None or name == f"{PREFIX}{run_id}") and _is_this_users(above, name):
                yield _remove(above, f"{place}/{name}", name)


def sweep_beside() -> None:
    """Remove the empty cgroups of dead recorders where the next one is made. What cannot be is left."""
    hierarchy = own_hierarchy()
    if isinstance(hierarchy, Refusal):
        return
    with suppress(OSError), opened(f"{hierarchy.mount}/{hierarchy.own}") as above:
        for name in sorted(names_below(above)):
            if (
                name.startswith(PREFIX)
                and is_run_id(name.removeprefix(PREFIX))
                and _is_this_users(above, name)
            ):
                _remove(above, name, name)


def _named_for_runs(fd: int, place: str = "", depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """The cgroup above, its path, and the name of one of ours in it; runs in runs come first."""
    if depth == MAX_DEPTH:
        return
    for name in sorted(names_below(fd)):
        with suppress(OSError), opened(name, fd) as below:  # removed meanwhile, or not ours to look into
            yield from _named_for_runs(below, f"{place}/{name}", depth + 1)
        if name.startswith(PREFIX) and is_run_id(name.removeprefix(PREFIX)):
            yield fd, place, name


def _is_this_users(above: int, name: str) -> bool:
    try:
        return os.geteuid() in {0, os.stat(name, dir_fd=above, follow_symlinks=False).st_uid}
    except OSError:  # likewise
        return False


def _remove(above: int, path: str, name: str) -> Leftover:
    try:
        with opened(name, above) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_populated(fd):
                return Leftover(path, Done.IN_USE, "has processes; it is left to them")
            removed = remove_cgroup(name, above)
    except BlockingIOError:
        return Leftover(path, Done.IN_USE, "belongs to a run that is being recorded")
    except OSError as error:
        return Leftover(path, Done.FAILED, f"cannot be removed: {error.strerror}")
    if not removed:
        return Leftover(path, Done.FAILED, "cannot be removed: it is used again")
    return Leftover(path, Done.REMOVED, "was left by a run that is over; it is removed")
