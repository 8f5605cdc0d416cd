"""Who has a spool: the lock and the events are held by the recorder, or by whoever seals."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from steno.bundle.folder import Folder, NotRegularError
from steno.evidence import layout

LOCK = "lock"
KERNEL = "kernel"  # beside it in a spool: the frames of the observer
LOOK_SECONDS, LOCK_PAUSE = 10.0, 0.02


@contextmanager
def holding(spool: Folder, ours: Sequence[int] = ()) -> Iterator[bool]:
    """Hold a spool; False when its recorder, or another process that seals it, has it.

    The recorder holds the lock and its events, and says so (`ours`). Who comes later takes both, and makes a
    lock that is gone.
    """
    fds: list[int] = []
    try:
        yield all(
            any(os.path.sameopenfile(fd, own) for own in ours) or _locked(fd) for fd in _open_both(spool, fds)
        )
    finally:
        for fd in fds:
            os.close(fd)


def _open_both(spool: Folder, fds: list[int]) -> Iterator[int]:
    """The events first: whose recorder is there has its lock left alone."""
    if spool.has(layout.EVENTS):
        fds.append(spool.open(layout.EVENTS, write=True))
        yield fds[-1]
    fds.append(_open_lock(spool))
    yield fds[-1]


def _open_lock(spool: Folder) -> int:
    if spool.has_folder(LOCK):
        spool.remove_tree(LOCK)
    with suppress(FileExistsError):
        os.close(spool.create(LOCK))
    try:
        return spool.open(LOCK, write=True)
    except NotRegularError:
        spool.remove(LOCK)
        return spool.create(LOCK)


def _locked(fd: int) -> bool:
    """False: somebody has it. Who only looks whether somebody has it is waited for."""
    enough = time.monotonic() + LOOK_SECONDS
    while not _try_lock(fd, fcntl.LOCK_EX):
        if not _try_lock(fd, fcntl.LOCK_SH) or time.monotonic() > enough:
            return False
        fcntl.flock(fd, fcntl.LOCK_UN)
        time.sleep(LOCK_PAUSE)
    return True


def _try_lock(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_live(run_folder: Folder) -> bool:
    """Whether a recorder is still writing this spool, or someone seals it."""
    return any(_is_locked(run_folder, f"{layout.SPOOL}/{path}") for path in (LOCK, layout.EVENTS))


def is_orphaned(run_folder: Folder) -> bool:
    """Whether the recorder is gone and only its observer of the kernel holds the spool.

    Both inherit the lock; the events are the recorder's alone.
    """
    events, lock = (f"{layout.SPOOL}/{path}" for path in (layout.EVENTS, LOCK))
    return run_folder.has(events) and not _is_locked(run_folder, events) and _is_locked(run_folder, lock)


def _is_locked(folder: Folder, path: str) -> bool:
    try:
        fd = folder.open(path)
    except OSError:
        return False
    try:
        return not _try_lock(fd, fcntl.LOCK_SH)  # shared: who else looks at this moment is nobody who has it
    finally:
        os.close(fd)
