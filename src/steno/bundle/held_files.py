"""Files of a spool that are held open, so that what they hold survives whoever removes their names.

In: a folder and names in it, each when it is made. Out: the names that do not lead there any more, and the
same bytes written again under them. What a truncated file held is lost, and not for us to see.
"""

from __future__ import annotations

import os
from contextlib import suppress

from steno.bundle.folder import BLOCK, Folder
from steno.bundle.tape import write_all


class HeldFiles:
    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def hold(self, name: str, fd: int) -> None:
        """`fd` stays the caller's."""
        self._held[name] = os.dup(fd)

    def lost_from(self, folder: Folder) -> list[str]:
        """The names by which a file can no longer be reached."""
        return [name for name, fd in self._held.items() if not _is_at(folder, name, fd)]

    def write_again(self, folder: Folder, name: str) -> int:
        """What is there now has to go: it is not what was recorded. Returns the new file, open."""
        above = name.rpartition("/")[0]
        for path in (name,) if not above or folder.has_folder(above) else (above,):
            with suppress(FileNotFoundError):
                folder.remove_tree(path)
        new = folder.create(name, append=True)
        try:
            _copy(self._held[name], new)
            self._replace(name, new)
        except BaseException:
            os.close(new)
            raise
        return new

    def _replace(self, name: str, new: int) -> None:
        old, self._held[name] = self._held[name], os.dup(new)
        os.close(old)

    def close(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1])


def _is_at(folder: Folder, name: str, fd: int) -> bool:
    try:
        there = folder.open(name)
    except OSError:
        return False
    try:
        return os.path.sameopenfile(there, fd)
    finally:
        os.close(there)


def _copy(source: int, target: int) -> None:
    """`source` is open to be written only; it may have no name."""
    readable = os.open(f"/proc/self/fd/{source}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while block := os.read(readable, BLOCK):
            write_all(target, block)
    finally:
        os.close(readable)
