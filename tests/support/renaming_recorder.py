"""Records of runs that rename things, written while the run goes on: the end does not tell old names."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from support.snapshots import Recording, Snapshot, recording, snapshot, state_of

ABSENT = {"exists": False}
GONE = {"exists": False, "tombstone": True}
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2


class Recorder:
    """Writes down only what a command touched, under the name that it used, as a recorder does.

    `lists`: also what goes along with a directory that is renamed, unless there is too much of it.
    """

    def __init__(self, root: Path, *, lists: bool = False) -> None:
        self._root = root
        self._lists = lists
        self._first: dict[Path, Any] = {}
        self._operations: dict[Path, set[str]] = {}
        self._renames: list[dict[str, Any]] = []
        self._blobs: dict[str, bytes] = {}
        self.before = snapshot(root)
        self._older = {_node(Path(os.fsdecode(path))) for path in self.before}

    def see(self, path: Path, *operations: str) -> None:
        self._operations.setdefault(path, set()).update(operations)
        if path not in self._first:
            found = snapshot(path)[os.fsencode(path)] if os.path.lexists(path) else None
            self._first[path] = state_of(found, "before", os.fsencode(path), self._blobs)

    def write(self, path: Path, content: bytes) -> None:
        self.see(path, "write")
        path.write_bytes(content)

    def unlink(self, path: Path) -> None:
        self.see(path, "delete")
        self._older.discard(_node(path))  # another file may get its inode
        path.unlink()

    def rmdir(self, path: Path) -> None:
        self.see(path, "delete")
        path.rmdir()

    def mkdir(self, path: Path) -> None:
        self.see(path, "directory", "write")
        path.mkdir()

    def rename(self, old: Path, new: Path) -> None:
        self.see(old, "delete")
        self.see(new, "write")
        if old.is_dir() and not old.is_symlink():
            self._renames.append({"from": str(old), "to": str(new)})
            self._list(old, new)
        elif _node(old) in self._older:
            dev, ino = _node(old)
            self._renames.append({"from": str(old), "to": str(new), "dev": dev, "ino": ino})
        if new.is_file():
            self._older.discard(_node(new))
        old.rename(new)

    def exchange(self, one: Path, other: Path) -> None:
        self.see(one, "write")
        self.see(other, "write")
        if directory := next((path for path in (one, other) if path.is_dir()), None):
            new = other if directory == one else one
            self._renames.append({"from": str(directory), "to": str(new), "exchange": True})
        elif _node(one) in self._older:
            dev, ino = _node(one)
            told = {"from": str(one), "to": str(other), "exchange": True, "dev": dev, "ino": ino}
            self._renames.append(told)
        self._list(one, other)
        self._list(other, one)
        done = ctypes.CDLL(None).renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
        assert done == 0

    def _list(self, old: Path, new: Path) -> None:
        for path in sorted(old.rglob("*")) if self._lists else ():
            self.see(path, "delete")
            self.see(new / path.relative_to(old), "write")

    def end(self) -> tuple[Recording, Snapshot]:
        after = snapshot(self._root)
        recorded = recording({}, {})
        recorded.files["directory_renames"] = self._renames
        for path in sorted(self._first):
            last = state_of(after.get(os.fsencode(path)), "after", os.fsencode(path), self._blobs)
            recorded.files["files"].append(
                {
                    "path": str(path),
                    "operations": sorted(self._operations[path]),
                    "before": self._first[path],
                    "after": GONE if last == ABSENT and self._first[path] != ABSENT else last,
                }
            )
        recorded.contents.blobs.update(self._blobs)
        return recorded, after


def _node(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino
