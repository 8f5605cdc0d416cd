"""Where undo and restore put what they take away and no record holds, so that no byte is lost.

In: a name in an open directory, and the path that it had. Out: where it is now. It is moved by a rename, so a
program that has it open goes on writing into it. The trash is a directory of the store; what is on another
file system goes to `.steno-trash-UID` in the highest directory there in which one can be made.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from steno.restore.looking import STEP, ObstacleError, open_parent
from steno.restore.renaming import rename_to_free
from steno.restore.states import parts_of

TRASH = "trash"  # in the store
_MODE = 0o700
_MOST_TRIES = 10_000


class Trash:
    def __init__(self, home: Path, label: str) -> None:
        """`label` names this undo: all that it takes away lies in one directory of that name."""
        self._home = home
        self._label = os.fsencode(label)
        self.places: list[bytes] = []  # directories that got something, for the user

    def take(self, parent: int, name: bytes, path: bytes) -> bytes:
        """Move what is at `name`; `path` is what it was called. On `OSError` it is still there."""

        def move(directory: int, free: bytes) -> None:
            rename_to_free(parent, name, directory, free)

        try:
            return self._place(path, os.fsencode(self._home), move)
        except OSError as error:
            if error.errno not in {
                errno.EXDEV,
                errno.EACCES,
                errno.EROFS,
                errno.EPERM,
                errno.ENOSPC,
                errno.EBUSY,
            }:
                raise
        return self._place(path, _on_the_same_device(parent, path), move)

    def put(self, content: bytes, path: bytes) -> bytes:
        """A content that was at `path` once, and is nowhere else."""

        def write(directory: int, name: bytes) -> None:
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory)
            with os.fdopen(fd, "wb") as file:
                file.write(content)

        return self._place(path, os.fsencode(self._home), write)

    def _place(self, path: bytes, home: bytes, put: Callable[[int, bytes], None]) -> bytes:
        """`put` is given a directory and a name that may be free; where it is not: `FileExistsError`."""
        place = home + b"/" + self._label
        Path(os.fsdecode(home)).mkdir(_MODE, parents=True, exist_ok=True)
        _check_ours(home)
        directory = b"/".join([place, *parts_of(path)[:-1]])
        wanted = parts_of(path)[-1]
        for number in range(1, _MOST_TRIES):
            free = wanted if number == 1 else wanted + b"~%d" % number
            try:
                Path(os.fsdecode(directory)).mkdir(_MODE, parents=True, exist_ok=True)
                fd = os.open(directory, STEP)
            except (FileExistsError, NotADirectoryError):  # a file of that name was put here before
                directory += b"~"
                continue
            try:
                put(fd, free)
            except FileExistsError:
                continue
            finally:
                os.close(fd)
            if place not in self.places:
                self.places.append(place)
            return directory + b"/" + free
        raise OSError(errno.EEXIST, "the trash has no free name for it")


def _check_ours(home: bytes) -> None:
    """Nobody else may look into it, or lead us elsewhere by a link."""
    found = os.lstat(home)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, f"the trash {os.fsdecode(home)} is not a directory of this user")
    if stat.S_IMODE(found.st_mode) != _MODE:
        Path(os.fsdecode(home)).chmod(_MODE)


def _hide_from_git(home: bytes) -> None:
    """It may lie in somebody's repository."""
    with suppress(FileExistsError):
        fd = os.open(home + b"/.gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(b"*\n")


def _on_the_same_device(parent: int, path: bytes) -> bytes:
    device = os.fstat(parent).st_dev
    name = b".steno-trash-%d" % os.geteuid()
    above = parts_of(path)[:-1]
    last: OSError = OSError(errno.EXDEV, "there is no place for a trash on its file system")
    for count in range(len(above) + 1):
        directory = b"/" + b"/".join(above[:count])
        home = directory.rstrip(b"/") + b"/" + name
        try:
            with open_parent(home) as (fd, _):
                if os.fstat(fd).st_dev != device:
                    continue
                with suppress(FileExistsError):
                    os.mkdir(name, _MODE, dir_fd=fd)
                _check_ours(home)
                _hide_from_git(home)
                return home
        except OSError as error:
            last = error
        except ObstacleError:
            break
    raise last
