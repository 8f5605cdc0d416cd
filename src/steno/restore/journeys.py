"""What a name stood for while the run renamed directories: then, at first and in the end.

In: the renames of directories that happened, in order. Out: for a name at a moment its `Thing`; for a thing
all the names it had. Moment 0 is before the first rename, moment n after the n-th. Works on names alone:
whether anything was there, others tell. Never looks at the file system.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from steno.restore.states import DirectoryRename, is_at_or_below, parent_of


class Thing(NamedTuple):
    """A path at the moment from which on it can be followed: 0, unless its name had been given up before."""

    path: bytes
    since: int = 0


class Journeys:
    def __init__(self, renames: Iterable[DirectoryRename] = ()) -> None:
        self.renames: list[DirectoryRename] = []
        self._numbers: dict[bytes, list[int]] = defaultdict(list)  # of the renames from or to a name
        for rename in renames:
            self.add(rename)

    def add(self, rename: DirectoryRename) -> None:
        for name in (rename.old, rename.new):
            self._numbers[name].append(len(self.renames))
        self.renames.append(rename)

    @property
    def last(self) -> int:
        return len(self.renames)

    def touches(self, path: bytes) -> bool:
        return any(name in self._numbers for name in _names_above(path))

    def thing_at(self, path: bytes, moment: int) -> Thing:
        """What has that name after so many renames."""
        while (number := self._previous(path, moment)) is not None:
            earlier = _back(path, self.renames[number])
            if earlier is None:
                return Thing(path, number + 1)
            path, moment = earlier, number
        return Thing(path)

    def things(self, path: bytes) -> set[Thing]:
        """All that had this name at some moment."""
        moments = {0}
        for name in _names_above(path):
            moments |= {number + 1 for number in self._numbers.get(name, ())}
        return {self.thing_at(path, moment) for moment in moments}

    def names(self, thing: Thing) -> list[bytes]:
        """One after the other, as far as it can be followed."""
        return [path for path in self._way(thing) if path is not None]

    def final_name(self, thing: Thing) -> bytes | None:
        """None: something else was renamed over it."""
        *_, final = self._way(thing)
        return final

    def first_rename(self, thing: Thing) -> DirectoryRename | None:
        number = self._next(*thing)
        return None if number is None else self.renames[number]

    def _way(self, thing: Thing) -> Iterator[bytes | None]:
        path, moment = thing
        yield path
        while (number := self._next(path, moment)) is not None:
            later = forth(path, self.renames[number])
            yield later
            if later is None:
                return
            path, moment = later, number + 1

    def _next(self, path: bytes, moment: int) -> int | None:
        found = []
        for name in _names_above(path):
            numbers = self._numbers.get(name, [])
            place = bisect_left(numbers, moment)
            found += numbers[place : place + 1]
        return min(found, default=None)

    def _previous(self, path: bytes, moment: int) -> int | None:
        found = []
        for name in _names_above(path):
            numbers = self._numbers.get(name, [])
            place = bisect_right(numbers, moment - 1)
            found += numbers[max(place - 1, 0) : place]
        return max(found, default=None)


def _names_above(path: bytes) -> Iterator[bytes]:
    while path != b"/":
        yield path
        path = parent_of(path)


def forth(path: bytes, rename: DirectoryRename) -> bytes | None:
    """The name of a path after a rename; None: it has been replaced."""
    if is_at_or_below(path, rename.old):
        return rename.new + path[len(rename.old) :]
    if is_at_or_below(path, rename.new):
        return rename.old + path[len(rename.new) :] if rename.exchange else None
    return path


def _back(path: bytes, rename: DirectoryRename) -> bytes | None:
    return forth(path, rename._replace(old=rename.new, new=rename.old))
