"""Directories that the run renamed: which to rename back (or again), and what the tree looks like then.

In: what the record says of them, and the tree. Out: `Moves`: from the name that each has now to the one it
is to have, in an order that works; what must go first, because the run put it under a name that is needed;
and those that cannot be done. Directories that the run made and renamed are not renamed back: they go. Never
renames anything: `MovedTree` only looks as if.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from steno.restore.history import Draft, History
from steno.restore.journeys import Journeys, Thing, forth
from steno.restore.looking import Sight, Tree
from steno.restore.states import (
    ABSENT,
    MASKED,
    DirectoryRename,
    Kind,
    State,
    is_at_or_below,
    is_below,
    parent_of,
)


class Cleared(NamedTuple):
    """Something that the run put under a name that a directory is to have again; removed just before that."""

    path: bytes
    now: State
    recorded: State


class Moves:
    """`meant` are the moves from one end of the run to the other; `steps` what is still to be done of it."""

    def __init__(self) -> None:
        self.meant = Journeys()
        self.steps: list[DirectoryRename | Cleared] = []
        self.refused: list[tuple[DirectoryRename, str]] = []

    def new_name(self, path: bytes) -> bytes | None:
        """None: it must be gone by then."""
        return self.meant.final_name(Thing(path))


class MovedTree:
    """A tree as it will be when the moves are done."""

    def __init__(self, tree: Tree) -> None:
        self.real = tree
        self.moves = Journeys()

    def where(self, path: bytes) -> bytes | None:
        """Where it is now; None: it will have been moved away."""
        now = self.moves.thing_at(path, self.moves.last)
        return None if now.since else now.path

    def look(self, path: bytes) -> Sight:
        now = self.where(path)
        if now is None:
            return Sight(ABSENT)
        found = self.real.look(now)
        if found.obstacle is None or now == path:
            return found
        return found._replace(obstacle=path[: len(found.obstacle) - len(now)])

    def names(self, directory: bytes) -> list[bytes] | None:
        now = self.where(directory)
        found = self.real.names(now) if now is not None else []
        if found is None:
            return None
        base = directory.rstrip(b"/") + b"/"
        kept = {name for name in found if self.where(base + name) == (now or b"").rstrip(b"/") + b"/" + name}
        ends = {end for move in self.moves.renames for end in ((move.new, move.old)[: 1 + move.exchange])}
        arrived = {path for path in ends if parent_of(path) == directory}
        return sorted(kept | {path.rpartition(b"/")[2] for path in arrived if self.look(path).state.exists})

    def holds(self, path: bytes, content: bytes) -> bool | None:
        now = self.where(path)
        return None if now is None else self.real.holds(now, content)


def crosses_devices(rename: DirectoryRename, tree: Tree) -> bool:
    """Then it was copied and removed, file by file, and each of them is in the record."""
    for here, there in ((rename.old, rename.new), (rename.new, rename.old)):
        source = tree.look(here)
        above = parent_of(there)
        while above != b"/" and (found := tree.look(above)).state.kind is Kind.ABSENT:
            above = parent_of(above)
        if source.state.exists and above != b"/" and found.state.exists and source.device != found.device:
            return True
    return False


def choose_moves(history: History, tree: MovedTree, *, undoing: bool, uid: int | None) -> Moves:
    """From the last name of every directory that is older than the run to its first, or the other way.

    `uid` is whose files may be removed; None: anybody's.
    """
    return _Chooser(history, tree, undoing=undoing, uid=uid).choose()


class _Pending(NamedTuple):
    """`recorded` is the source's name in the record, `source` the one it has after the moves so far."""

    recorded: bytes
    source: bytes
    destination: bytes

    @property
    def move(self) -> DirectoryRename:
        return DirectoryRename(self.source, self.destination)


class _Chooser:
    def __init__(self, history: History, tree: MovedTree, *, undoing: bool, uid: int | None) -> None:
        self._history = history
        self._tree = tree
        self._undoing = undoing
        self._uid = uid
        self._moves = Moves()
        self._pending: list[_Pending] = []

    def choose(self) -> Moves:
        wanted = [one for thing in self._history.renamed() if (one := self._wanted(thing))]
        self._pending = sorted(wanted, key=lambda one: (one.destination.count(b"/"), one.destination))
        while self._pending:
            ready = next((one for one in self._pending if not self._waits(one)), None)
            if ready is None:
                self._exchange()
            else:
                self._pending.remove(ready)
                self._take(ready)
        return self._moves

    def _wanted(self, thing: Thing) -> _Pending | None:
        before, final = self._history.before(thing), self._history.journeys.final_name(thing)
        there_before = before is not None and before.kind is Kind.DIRECTORY
        there_after = self._history.after(thing).kind in {Kind.DIRECTORY, Kind.UNKNOWN}
        if final is None or final == thing.path or not there_before or not there_after:
            return None
        here, there = (final, thing.path) if self._undoing else (thing.path, final)
        return _Pending(here, here, there)

    def _waits(self, one: _Pending) -> bool:
        """Another has to go first: it is under the name, or the place is in one that is itself to move."""
        return is_below(one.destination, one.source) or any(
            is_at_or_below(other.source, one.destination)
            or is_below(one.destination, other.source)
            or is_below(one.destination, other.destination)
            for other in self._pending
            if other is not one
        )

    def _take(self, one: _Pending) -> None:
        source, destination = self._tree.look(one.source).state.kind, self._tree.look(one.destination)
        taken = destination.state.kind is not Kind.ABSENT
        gone = source is Kind.ABSENT and destination.state.kind in {Kind.ABSENT, Kind.DIRECTORY}
        if MASKED in one.source or MASKED in one.destination:
            self._refuse(one, "a name of it held a secret")
        elif gone or (taken and self._is_done(one)):
            self._mean(one.move)  # done already, or somebody removed it
        elif source is not Kind.DIRECTORY:
            self._refuse(one, "what was renamed is not a directory any more")
        elif (cleared := self._what_to_clear(one) if taken else []) is None:
            self._refuse(one, "its name is taken")
        elif why := _no_place(destination, one.destination, self._history.drafts):
            self._refuse(one, why)
        else:
            self._moves.steps.extend(cleared)
            self._do(one.move)

    def _exchange(self) -> None:
        """Nobody can go first: two change places, if each has the name that the other is to have."""
        for one in self._pending:
            other = next((other for other in self._pending if other.source == one.destination), None)
            ends = (one.source, one.destination)
            if other is None or is_below(*ends) or is_below(*reversed(ends)):
                continue
            done = self._is_done(one)
            if not done and any(self._tree.look(end).state.kind is not Kind.DIRECTORY for end in ends):
                continue
            self._pending.remove(one)
            (self._mean if done else self._do)(one.move._replace(exchange=True))
            return
        for one in self._pending:
            self._refuse(one, "its name is taken")
        self._pending = []

    def _mean(self, move: DirectoryRename) -> None:
        self._moves.meant.add(move)
        followed = [one._replace(source=forth(one.source, move) or one.source) for one in self._pending]
        self._pending = [one for one in followed if one.source != one.destination]

    def _do(self, move: DirectoryRename) -> None:
        self._moves.steps.append(move)
        self._tree.moves.add(move)
        self._mean(move)

    def _refuse(self, one: _Pending, why: str) -> None:
        self._moves.refused.append((one.move, why))

    def _ends(self, draft: Draft) -> tuple[State, State]:
        """What a path is to become, and what it comes from."""
        return (draft.before, draft.after) if self._undoing else (draft.after, draft.before)

    def _is_done(self, one: _Pending) -> bool:
        """Both names are taken: the paths below them tell at which end of the run we are."""
        balance = 0
        for path, draft in self._history.drafts.items():
            if is_at_or_below(path, one.recorded) or is_at_or_below(path, one.destination):
                target, left = self._ends(draft)
                now = self._tree.real.look(path).state
                balance += _likeness(now, target) - _likeness(now, left)
        return balance > 0

    def _what_to_clear(self, one: _Pending) -> list[Cleared] | None:
        """All that is under the name, if the record knows it and nobody has touched it; deepest first."""
        if is_below(one.source, one.destination):
            return None
        found, waiting = [], [one.destination]
        while waiting:
            path = waiting.pop()
            draft = self._history.drafts.get(self._tree.where(path) or b"")
            now = self._tree.look(path).state
            recorded = ABSENT if draft is None else self._ends(draft)[1]
            foreign = self._uid is not None and now.uid != self._uid
            if not now.exists or not _is_surely(now, recorded) or foreign:
                return None
            found.append(Cleared(path, now, recorded))
            if now.kind is Kind.DIRECTORY:
                names = self._tree.names(path)
                if names is None:
                    return None
                waiting += [path + b"/" + name for name in names]
        return sorted(found, key=lambda one: one.path.split(b"/"), reverse=True)


def _is_surely(now: State, recorded: State) -> bool:
    """The time of a directory changes with what is in it, and that is looked at on its own."""
    return _likeness(now, recorded) > (now.kind is not Kind.DIRECTORY)


def _likeness(now: State, recorded: State) -> int:
    """0: another kind of thing; 1: the same kind; 2: alike, as far as can be told without reading it."""
    if now.kind is not recorded.kind:
        return 0
    same = (now.mtime_ns, now.target) == (recorded.mtime_ns, recorded.target)
    return 1 + (same and (now.kind is Kind.DIRECTORY or now.size == recorded.size))


def _no_place(found: Sight, destination: bytes, drafts: dict[bytes, Draft]) -> str | None:
    """Missing directories above the destination must be ones that the plan makes."""
    if found.obstacle is None:
        return None
    if found.blocked is not Kind.ABSENT:
        return f"{os.fsdecode(found.obstacle)} is not a directory any more"
    above = parent_of(destination)
    while is_at_or_below(above, found.obstacle):
        draft = drafts.get(above)
        if draft is None or Kind.DIRECTORY not in {draft.before.kind, draft.after.kind}:
            return f"{os.fsdecode(above)} is missing"
        above = parent_of(above)
    return None
