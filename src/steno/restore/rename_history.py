"""What the run renamed, and what the record says of a file that had several names.

A `RenameHistory` works on names alone: which entry had a name at a moment, and which names an entry had.
Moment 0 is before the first rename, moment n after the n-th. A `PathHistory` adds how the record says an
entry was before the run, and how the run left it. Never looks at the file system.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from steno.restore.states import (
    ABSENT,
    UNKNOWN,
    Kind,
    Rename,
    State,
    is_at_or_below,
    is_below,
    parent_of,
    parts_of,
)


class Entry(NamedTuple):
    """A path at the moment from which on it can be followed: 0, unless its name had been given up before."""

    path: bytes
    since: int = 0


class _Way(NamedTuple):
    """All names of an entry, each once: as it got them first, and as it had them last, the latest first."""

    names: list[bytes]
    latest: list[bytes]
    final: bytes | None  # None: something else was renamed over it


class RenameHistory:
    """Many entries lie in few directories, and a directory may be renamed many times: each way is followed
    once, for the part of the names that renames speak of. What is below goes along."""

    def __init__(self, renames: Iterable[Rename] = ()) -> None:
        self.renames: list[Rename] = []
        self._numbers: dict[bytes, list[int]] = defaultdict(list)  # of the renames from or to a name
        self._parts: set[bytes] = set()  # of the names that renames speak of
        self._origins: dict[tuple[bytes, int], Entry] = {}  # by a name and the last rename before that moment
        self._entries: dict[bytes, set[Entry]] = {}
        self._ways: dict[Entry, _Way] = {}
        for rename in renames:
            self.add(rename)

    def add(self, rename: Rename) -> None:
        for name in (rename.old, rename.new):
            self._numbers[name].append(len(self.renames))
            self._parts.update(parts_of(name))
        self.renames.append(rename)
        self._entries.clear()
        self._ways.clear()

    @property
    def last(self) -> int:
        return len(self.renames)

    def touches(self, path: bytes) -> bool:
        return any(name in self._numbers for name in names_above(path))

    def entry_at(self, path: bytes, moment: int) -> Entry:
        """What has that name after so many renames."""
        head, tail = self._split(path)
        return _below(self._origin(head, moment), tail)

    def entries(self, path: bytes) -> set[Entry]:
        """All that had this name at some moment."""
        head, tail = self._split(path)
        if head not in self._entries:
            moments = {0}
            for name in names_above(head):
                moments |= {number + 1 for number in self._numbers.get(name, ())}
            self._entries[head] = {self._origin(head, moment) for moment in sorted(moments)}
        return {_below(entry, tail) for entry in self._entries[head]}

    def names(self, entry: Entry) -> list[bytes]:
        """Each once, in the order in which it got them, as far as it can be followed."""
        way, tail = self._way(entry)
        return [name + tail for name in way.names]

    def latest_names(self, entry: Entry) -> list[bytes]:
        """Each once, the last first."""
        way, tail = self._way(entry)
        return [name + tail for name in way.latest]

    def final_name(self, entry: Entry) -> bytes | None:
        """None: something else was renamed over it."""
        way, tail = self._way(entry)
        return None if way.final is None else way.final + tail

    def first_rename(self, entry: Entry) -> Rename | None:
        number = self._next(*entry)
        return None if number is None else self.renames[number]

    def _split(self, path: bytes) -> tuple[bytes, bytes]:
        """Where the first part begins that no rename speaks of: from there on, no name ever changes."""
        end = 0
        for part in parts_of(path):
            if part not in self._parts:
                break
            end += 1 + len(part)
        return path[:end], path[end:]

    def _origin(self, path: bytes, moment: int) -> Entry:
        passed = []
        while (number := self._previous(path, moment)) is not None:
            found = self._origins.get((path, number))
            if found is not None:
                break
            passed.append((path, number))
            earlier = _back(path, self.renames[number])
            if earlier is None:
                found = Entry(path, number + 1)
                break
            path, moment = earlier, number
        else:
            found = Entry(path)
        self._origins.update(dict.fromkeys(passed, found))
        return found

    def _way(self, entry: Entry) -> tuple[_Way, bytes]:
        head, tail = self._split(entry.path)
        start = Entry(head, entry.since)
        if start not in self._ways:
            turns = list(self._names_in_turn(start))
            names = [name for name in turns if name is not None]
            latest = list(dict.fromkeys(reversed(names)))
            self._ways[start] = _Way(list(dict.fromkeys(names)), latest, turns[-1])
        return self._ways[start], tail

    def _names_in_turn(self, entry: Entry) -> Iterator[bytes | None]:
        path, moment = entry
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


def _below(entry: Entry, tail: bytes) -> Entry:
    return Entry(entry.path + tail, entry.since)


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


# A record with no other operation than these was looked at; the run did not change what it names.
LOOKING = frozenset({"read", "existence", "execute"})


class PathRecord(NamedTuple):
    """One path of the plan while names are still being sorted out."""

    before: State
    after: State
    operations: frozenset[str]
    names: frozenset[bytes]
    also_accepted: tuple[State, ...] = ()


class PathHistory:
    def __init__(self, path_records: dict[bytes, PathRecord], renames: Sequence[Rename]) -> None:
        self.path_records = path_records
        self.rename_history = RenameHistory(renames)
        self._paths = sorted(path_records)
        self._listed: dict[Rename, bool] = {}
        self._arrived = {rename.new for rename in renames}

    def renamed(self) -> dict[Entry, tuple[int, int] | None]:
        """What the run renamed, each once, and the node that it is, where that is known."""
        found: dict[Entry, tuple[int, int] | None] = {}
        for number, rename in enumerate(self.rename_history.renames):
            found.setdefault(self.rename_history.entry_at(rename.old, number), rename.node)
            if rename.exchange:
                found.setdefault(self.rename_history.entry_at(rename.new, number), None)
        return found

    def before(self, entry: Entry) -> State | None:
        """None: nobody looked at it before it may have been changed."""
        if entry.since:
            return ABSENT  # its name had been given up: it was made, or came there, later
        first, *later = self.rename_history.names(entry)
        if found := self.path_records.get(first):
            return found.before if self._stood(first) else ABSENT
        for name in later:
            found = self.path_records.get(name)
            if found and not (found.before.exists and self._stood(name)):
                return found.before
        rename = self.rename_history.first_rename(entry)
        return ABSENT if rename is not None and self._lists(rename) else None

    def after(self, entry: Entry) -> State:
        final = self.rename_history.final_name(entry)
        if final is None:
            return ABSENT
        if final in self.path_records:
            return self.path_records[final].after
        last = next(
            (
                self.path_records[name]
                for name in self.rename_history.latest_names(entry)
                if name in self.path_records
            ),
            None,
        )
        if last is None:
            return UNKNOWN
        # What goes along with a directory is told under its new name: what is not was gone by then. And what
        # was not there at first, and is under the old name now, was made after the directory had gone.
        made_later = not last.before.exists and last.after.exists
        return ABSENT if made_later or "delete" in last.operations else UNKNOWN

    def recorded_in(self, directory: bytes) -> Iterator[bytes]:
        """The names in the record of a directory and of what is below it."""
        if directory in self.path_records:
            yield directory
        for place in range(bisect_left(self._paths, directory + b"/"), len(self._paths)):
            if not is_below(self._paths[place], directory):
                return
            yield self._paths[place]

    def recorded_names(self, entry: Entry) -> list[bytes]:
        return [name for name in self.rename_history.names(entry) if name in self.path_records]

    def operations(self, entry: Entry) -> frozenset[str]:
        return frozenset().union(*(self.path_records[name].operations for name in self.recorded_names(entry)))

    def _lists(self, rename: Rename) -> bool:
        """Whether all that went along is in the record, so that what is not was not there."""
        if rename not in self._listed:
            self._listed[rename] = any(
                path != rename.old
                and "delete" in self.path_records[path].operations
                and rename.new + path[len(rename.old) :] in self.path_records
                for path in self.recorded_in(rename.old)
            )
        return self._listed[rename]

    def _stood(self, name: bytes) -> bool:
        """Whether the directories above a name had it before the run: then what was found there was there."""
        above = parent_of(name)
        while above != b"/":
            if above in self._arrived and self.path_records[above].before.kind is not Kind.DIRECTORY:
                return False
            above = parent_of(above)
        return True


def that_happened(renames: list[Rename], path_records: dict[bytes, PathRecord]) -> list[Rename]:
    """The record holds what was tried; what was there before and after tells what the kernel refused."""
    found = []
    taken: dict[bytes, bool] = {}
    last_as_old = {one.old: number for number, one in enumerate(renames)}
    last_as_new = {one.new: number for number, one in enumerate(renames)}
    for number, one in enumerate(renames):
        old, new = path_records.get(one.old), path_records.get(one.new)
        if old is None or new is None or is_at_or_below(one.old, one.new) or is_below(one.new, one.old):
            continue
        if one.exchange or one.node is not None:  # of a node it is looked where it is
            found.append(one)
            continue
        stayed = old.after.kind is Kind.DIRECTORY
        later = [last_as_old.get(name, 0) for name in names_above(one.new)]
        moved_on = max(*later, last_as_new.get(one.old, 0)) > number
        if stayed and taken.get(one.new, new.before.exists):
            continue
        if stayed and new.after.kind is Kind.ABSENT and not moved_on:
            continue
        taken |= {one.old: False, one.new: True}
        found.append(one)
    return found
