"""A lock of the kernel's on a file or a folder that is held open.

In: a descriptor. Out: whether the lock is ours now. It ends when the descriptor is closed, and with the
processes that have it, so nothing is to be cleaned up after a crash. Never waits without a bound.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from steno.bundle.folder import Folder
from steno.errors import StoreError

PATIENCE = 30.0  # seconds, for what nobody holds for long
_PAUSE = 0.02


def take(fd: int, *, seconds: float, shared: bool = False) -> bool:
    """Waits so long at most; False when somebody else still has it."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    for _ in range(round(seconds / _PAUSE)):
        if _taken(fd, how):
            return True
        time.sleep(_PAUSE)
    return _taken(fd, how)


def is_held(folder: Folder) -> bool:
    """Whether somebody has the lock of a folder. Asked through a descriptor of our own, which is closed."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder.fd)
    try:
        return not _taken(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


@contextmanager
def locked(folder: Folder, name: str, *, seconds: float = PATIENCE) -> Iterator[None]:
    """Alone with what `name` in the folder guards; the file is made, and stays."""
    with suppress(FileExistsError):
        os.close(folder.create(name))
    fd = folder.open(name)
    try:
        if not take(fd, seconds=seconds):
            raise StoreError(
                f"somebody holds {folder.path / name}", hint="find out who with `fuser`, and try again"
            )
        yield
    finally:
        os.close(fd)


def _taken(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
