"""First looks at paths, as the observer would have had them: what is there now becomes the state before."""

from __future__ import annotations

import os
from pathlib import Path

from steno.bundle.frames import FirstLook
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


def look(state: wire.State | None, *operations: str) -> FirstLook:
    return FirstLook(
        state=state,
        operations=frozenset(operations),
        blob=state.blob if state else 0,
        content=state.content if state else 0,
        changed=bool(CHANGING & set(operations)),
        unresolved=False,
    )


def first_look(path: Path | bytes, *operations: str) -> FirstLook:
    return look(state_of(path), *operations)
