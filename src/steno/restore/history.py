"""What the record says of a thing that had several names: how it was before the run, and how the run left it.

In: the drafts of the record, by the names that the run used, and the renames of directories. Out: the states
of a `Thing` on both sides. A file that the run first met below the new name of a directory was, before the
run, below the old one. Never looks at the file system.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from steno.restore.journeys import Journeys, Thing, names_above
from steno.restore.states import (
    ABSENT,
    UNKNOWN,
    Kind,
    Rename,
    State,
    is_at_or_below,
    is_below,
    parent_of,
)

# A record with no other operation than these was looked at; the run did not change what it names.
LOOKING = frozenset({"read", "existence", "execute"})


class Draft(NamedTuple):
    """One path of the plan while names are still being sorted out."""

    before: State
    after: State
    operations: frozenset[str]
    names: frozenset[bytes]
    also_accepted: tuple[State, ...] = ()


class History:
    def __init__(self, drafts: dict[bytes, Draft], renames: Sequence[Rename]) -> None:
        self.drafts = drafts
        self.journeys = Journeys(renames)
        self._paths = sorted(drafts)
        self._listed: dict[Rename, bool] = {}
        self._arrived = {rename.new for rename in renames}

    def renamed(self) -> dict[Thing, tuple[int, int] | None]:
        """What the run renamed, each once, and the node that it is, where that is known."""
        found: dict[Thing, tuple[int, int] | None] = {}
        for number, rename in enumerate(self.journeys.renames):
            found.setdefault(self.journeys.thing_at(rename.old, number), rename.node)
            if rename.exchange:
                found.setdefault(self.journeys.thing_at(rename.new, number), None)
        return found

    def before(self, thing: Thing) -> State | None:
        """None: nobody looked at it before it may have been changed."""
        if thing.since:
            return ABSENT  # its name had been given up: it was made, or came there, later
        first, *later = self.journeys.names(thing)
        if found := self.drafts.get(first):
            return found.before if self._stood(first) else ABSENT
        for name in later:
            found = self.drafts.get(name)
            if found and not (found.before.exists and self._stood(name)):
                return found.before
        rename = self.journeys.first_rename(thing)
        return ABSENT if rename is not None and self._lists(rename) else None

    def after(self, thing: Thing) -> State:
        final = self.journeys.final_name(thing)
        if final is None:
            return ABSENT
        if final in self.drafts:
            return self.drafts[final].after
        last = next(
            (self.drafts[name] for name in self.journeys.latest_names(thing) if name in self.drafts), None
        )
        if last is None:
            return UNKNOWN
        # What goes along with a directory is told under its new name: what is not was gone by then. And what
        # was not there at first, and is under the old name now, was made after the directory had gone.
        made_later = not last.before.exists and last.after.exists
        return ABSENT if made_later or "delete" in last.operations else UNKNOWN

    def recorded_in(self, directory: bytes) -> Iterator[bytes]:
        """The names in the record of a directory and of what is below it."""
        if directory in self.drafts:
            yield directory
        for place in range(bisect_left(self._paths, directory + b"/"), len(self._paths)):
            if not is_below(self._paths[place], directory):
                return
            yield self._paths[place]

    def recorded_names(self, thing: Thing) -> list[bytes]:
        return [name for name in self.journeys.names(thing) if name in self.drafts]

    def operations(self, thing: Thing) -> frozenset[str]:
        return frozenset().union(*(self.drafts[name].operations for name in self.recorded_names(thing)))

    def _lists(self, rename: Rename) -> bool:
        """Whether all that went along is in the record, so that what is not was not there."""
        if rename not in self._listed:
            self._listed[rename] = any(
                path != rename.old
                and "delete" in self.drafts[path].operations
                and rename.new + path[len(rename.old) :] in self.drafts
                for path in self.recorded_in(rename.old)
            )
        return self._listed[rename]

    def _stood(self, name: bytes) -> bool:
        """Whether the directories above a name had it before the run: then what was found there was there."""
        above = parent_of(name)
        while above != b"/":
            if above in self._arrived and self.drafts[above].before.kind is not Kind.DIRECTORY:
                return False
            above = parent_of(above)
        return True


def that_happened(renames: list[Rename], drafts: dict[bytes, Draft]) -> list[Rename]:
    """The record holds what was tried; what was there before and after tells what the kernel refused."""
    found = []
    taken: dict[bytes, bool] = {}
    last_as_old = {one.old: number for number, one in enumerate(renames)}
    last_as_new = {one.new: number for number, one in enumerate(renames)}
    for number, one in enumerate(renames):
        old, new = drafts.get(one.old), drafts.get(one.new)
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
