"""First looks at paths, as the observer would have had them: what is there now becomes the state before."""

from __future__ import annotations

import os
from pathlib import Path

from steno.bundle.frames import Touched
from steno.evidence import wire
from steno.judge.operations import CHANGING


def state_of(path: Path | bytes, *, blob: int = 0, content: str = "not_kept") -> wire.State | None:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return wire.State(
        dev=found.st_dev,
        ino=found.st_ino,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        ctime_ns=found.st_ctime_ns,
        mode=found.st_mode,
        uid=found.st_uid,
        gid=found.st_gid,
        nlink=found.st_nlink,
        target=0,
        blob=blob,
        content=wire.CONTENT[content],
        rdev=0,
    )


def touched(state: wire.State | None, *operations: str) -> Touched:
    """A path with this state in the first look, of which the run did this, in the words of `files.json`."""
    done = set(operations)
    return Touched(
        first=state,
        is_used=bool(done & {"read", "write", "execute", "delete"}),
        is_changed=bool(done & CHANGING),
        is_written=bool(done & {"write", "delete"}),
        is_removed="delete" in done,
    )


def first_look(path: Path | bytes, *operations: str) -> Touched:
    return touched(state_of(path), *operations)
