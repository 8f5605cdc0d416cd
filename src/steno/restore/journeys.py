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

from steno.restore.states import Rename, is_at_or_below, parent_of, parts_of


class Thing(NamedTuple):
    """A path at the moment from which on it can be followed: 0, unless its name had been given up before."""

    path: bytes
    since: int = 0


class _Way(NamedTuple):
    """All names of a thing, each once: as it got them first, and as it had them last, the latest first."""

    names: list[bytes]
    latest: list[bytes]
    final: bytes | None  # None: something else was renamed over it


class Journeys:
    """Many things lie in few directories, and a directory may be renamed many times: each way is followed
    once, for the part of the names that renames speak of. What is below goes along."""

    def __init__(self, renames: Iterable[Rename] = ()) -> None:
        self.renames: list[Rename] = []
        self._numbers: dict[bytes, list[int]] = defaultdict(list)  # of the renames from or to a name
        self._parts: set[bytes] = set()  # of the names that renames speak of
        self._origins: dict[tuple[bytes, int], Thing] = {}  # by a name and the last rename before that moment
        self._things: dict[bytes, set[Thing]] = {}
        self._ways: dict[Thing, _Way] = {}
        for rename in renames:
            self.add(rename)

    def add(self, rename: Rename) -> None:
        for name in (rename.old, rename.new):
            self._numbers[name].append(len(self.renames))
            self._parts.update(parts_of(name))
        self.renames.append(rename)
        self._things.clear()
        self._ways.clear()

    @property
    def last(self) -> int:
        return len(self.renames)

    def touches(self, path: bytes) -> bool:
        return any(name in self._numbers for name in names_above(path))

    def thing_at(self, path: bytes, moment: int) -> Thing:
        """What has that name after so many renames."""
        head, tail = self._split(path)
        return _below(self._origin(head, moment), tail)

    def things(self, path: bytes) -> set[Thing]:
        """All that had this name at some moment."""
        head, tail = self._split(path)
        if head not in self._things:
            moments = {0}
            for name in names_above(head):
                moments |= {number + 1 for number in self._numbers.get(name, ())}
            self._things[head] = {self._origin(head, moment) for moment in sorted(moments)}
        return {_below(thing, tail) for thing in self._things[head]}

    def names(self, thing: Thing) -> list[bytes]:
        """Each once, in the order in which it got them, as far as it can be followed."""
        way, tail = self._way(thing)
        return [name + tail for name in way.names]

    def latest_names(self, thing: Thing) -> list[bytes]:
        """Each once, the last first."""
        way, tail = self._way(thing)
        return [name + tail for name in way.latest]

    def final_name(self, thing: Thing) -> bytes | None:
        """None: something else was renamed over it."""
        way, tail = self._way(thing)
        return None if way.final is None else way.final + tail

    def first_rename(self, thing: Thing) -> Rename | None:
        number = self._next(*thing)
        return None if number is None else self.renames[number]

    def _split(self, path: bytes) -> tuple[bytes, bytes]:
        """Where the first part begins that no rename speaks of: from there on, no name ever changes."""
        end = 0
        for part in parts_of(path):
            if part not in self._parts:
                break
            end += 1 + len(part)
        return path[:end], path[end:]

    def _origin(self, path: bytes, moment: int) -> Thing:
        passed = []
        while (number := self._previous(path, moment)) is not None:
            found = self._origins.get((path, number))
            if found is not None:
                break
            passed.append((path, number))
            earlier = _back(path, self.renames[number])
            if earlier is None:
                found = Thing(path, number + 1)
                break
            path, moment = earlier, number
        else:
            found = Thing(path)
        self._origins.update(dict.fromkeys(passed, found))
        return found

    def _way(self, thing: Thing) -> tuple[_Way, bytes]:
        head, tail = self._split(thing.path)
        start = Thing(head, thing.since)
        if start not in self._ways:
            turns = list(self._names_in_turn(start))
            names = [name for name in turns if name is not None]
            latest = list(dict.fromkeys(reversed(names)))
            self._ways[start] = _Way(list(dict.fromkeys(names)), latest, turns[-1])
        return self._ways[start], tail

    def _names_in_turn(self, thing: Thing) -> Iterator[bytes | None]:
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
        for name in names_above(path):
            numbers = self._numbers.get(name, [])
            place = bisect_left(numbers, moment)
            found += numbers[place : place + 1]
        return min(found, default=None)

    def _previous(self, path: bytes, moment: int) -> int | None:
        found = []
        for name in names_above(path):
            numbers = self._numbers.get(name, [])
            place = bisect_right(numbers, moment - 1)
            found += numbers[max(place - 1, 0) : place]
        return max(found, default=None)


def _below(thing: Thing, tail: bytes) -> Thing:
    return Thing(thing.path + tail, thing.since)


def names_above(path: bytes) -> Iterator[bytes]:
    """Its own and those of the directories above it, without the root."""
    while path != b"/":
        yield path
        path = parent_of(path)


def forth(path: bytes, rename: Rename) -> bytes | None:
    """The name of a path after a rename; None: it has been replaced."""
    if is_at_or_below(path, rename.old):
        return rename.new + path[len(rename.old) :]
    if is_at_or_below(path, rename.new):
        return rename.old + path[len(rename.new) :] if rename.exchange else None
    return path


def _back(path: bytes, rename: Rename) -> bytes | None:
    return forth(path, rename._replace(old=rename.new, new=rename.old))
