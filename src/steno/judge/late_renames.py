"""Directories that the run renamed, told after the call: what is below their names may be of elsewhere.

In: rows of the kernel table with their names, in order. Out: whether a look at a path may show what came
there with a directory, or miss what went away with one; and how many directories brought something that is
not told under its old name. Never looks at a file.
"""

from __future__ import annotations

from collections.abc import Container

_LEAVING = frozenset({"unlink", "rmdir", "rename", "moved"})
_ARRIVING = frozenset({"rename_to", "moved_to"})


class LateRenames:
    def __init__(self) -> None:
        self._old: set[bytes] = set()
        self._new: set[bytes] = set()
        self._listed: set[bytes] = set()  # new names of what was found in a directory
        self._unlisted: set[bytes] = set()  # new names of directories that had held more

    def __bool__(self) -> bool:
        return bool(self._old or self._new)

    @property
    def unlisted(self) -> int:
        return len(self._unlisted)

    def add(self, op: str, name: bytes, *, exchange: bool) -> None:
        if op == "rename" or exchange:
            self._old.add(name)
        if op == "rename_to" or exchange:
            self._new.add(name)
        if op == "moved_to":
            self._listed.add(name)

    def may_hide(self, name: bytes) -> bool:
        """Whether something of this name may have come or gone with a directory."""
        return _above(name, self._old) is not None or _above(name, self._new) is not None

    def spoil(self, op: str, name: bytes, *, found: bool) -> bool:
        """Whether the first look at a path, in a call that did not fail, tells nothing of before."""
        was_there = found or op in _LEAVING
        brought = _above(name, self._new) if was_there else None
        if brought is not None and op not in _ARRIVING and name not in self._listed:
            self._unlisted.add(brought)
        return brought is not None or _above(name, self._old) is not None


def _above(name: bytes, directories: Container[bytes]) -> bytes | None:
    """The nearest of the directories that a path is below."""
    end = name.rfind(b"/")
    while end > 0:
        if name[:end] in directories:
            return name[:end]
        end = name.rfind(b"/", 0, end)
    return None
