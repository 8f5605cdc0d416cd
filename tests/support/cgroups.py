"""The cgroups of this machine: whether a run can have one, what runs have left, and one of a user's own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steno.capture.cgroup import PREFIX
from steno.evidence.run_id import format_run_id
from support import machine
from support.ordinary import user_id
from support.waiting import until

_OWN = machine.own_cgroup()
MOUNT = None if _OWN is None else _OWN.mount
# Whoever may make one here has a scope for every run.
needs_scope = pytest.mark.skipif(not machine.a_cgroup_can_be_made(), reason="no cgroup can be made here")


def new_run_id() -> str:
    return format_run_id(time.time_ns() // 1_000_000, os.urandom(4))


def left_by(run_id: str) -> list[Path]:
    """The cgroups below the mount that bear the name of this run; others come and go meanwhile."""
    name = f"{PREFIX}{run_id}"
    return [] if MOUNT is None else [Path(above, name) for above, below, _ in os.walk(MOUNT) if name in below]


def kill_all_in(place: Path) -> None:
    """Whoever is in that cgroup is gone afterwards: until then it cannot be removed."""
    (place / "cgroup.kill").write_bytes(b"1")
    until(lambda: "populated 0" in (place / "cgroup.events").read_text())


@contextmanager
def delegated() -> Iterator[Path]:
    """A cgroup that belongs to the ordinary user, as a session manager would make it."""
    assert MOUNT is not None
    place = MOUNT / f"delegated-{os.getpid()}"
    place.mkdir()
    try:
        for path in (place, place / "cgroup.procs", place / "cgroup.subtree_control"):
            os.chown(path, user_id(), user_id())
        yield place
    finally:
        kill_all_in(place)
        for below in sorted((path for path in place.rglob("*") if path.is_dir()), reverse=True):
            below.rmdir()
        place.rmdir()


def born_in(place: Path) -> list[str]:
    """The words to put before a command that is to be born in that cgroup."""
    return ["sh", "-c", f'echo $$ > "{place}/cgroup.procs"; exec "$@"', "sh"]
