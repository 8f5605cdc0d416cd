"""What the run renamed: which to rename back (or again), and what the tree looks like then.

What the run put under a name that is needed goes first. What the run made and renamed is not renamed back:
it goes. A file or a link is renamed only if it is the very one that the run renamed; else its content is
written, if it is held. Never renames anything: `MovedTree` only looks as if.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from steno.restore.filesystem import Lookup, Tree
from steno.restore.rename_history import (
    LOOKING,
    Entry,
    PathHistory,
    PathRecord,
    RenameHistory,
    forth,
    names_above,
)
from steno.restore.states import (
    ABSENT,
    MASKED,
    UNKNOWN,
    Kind,
    Rename,
    State,
    is_at_or_below,
    is_below,
    parent_of,
)

_MOVABLE = frozenset({Kind.DIRECTORY, Kind.FILE, Kind.SYMLINK})


class Cleared(NamedTuple):
    """What the run put under a name that something else is to have again; removed just before that."""

    path: bytes
    now: State


class Moves:
    """`meant` are the moves from one end of the run to the other; `steps` what is still to be done of it."""

    def __init__(self) -> None:
        self.meant = RenameHistory()
        self.steps: list[Rename | Cleared] = []
        self.refused: list[tuple[Rename, str]] = []
        self.files: dict[
            Rename, tuple[State, State]
        ] = {}  # what is at both names of a step about no directory

    def new_name(self, path: bytes) -> bytes | None:
        """None: it must be gone by then."""
        return self.meant.final_name(Entry(path))


class MovedTree:
    """A tree as it will be when the moves are done."""

    def __init__(self, tree: Tree) -> None:
        self.real = tree
        self.moves = RenameHistory()

    def where(self, path: bytes) -> bytes | None:
        """Where it is now; None: it will have been moved away."""
        now = self.moves.entry_at(path, self.moves.last)
        return None if now.since else now.path

    def look(self, path: bytes) -> Lookup:
        now = self.where(path)
        if now is None:
            return Lookup(ABSENT)
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


def crosses_devices(rename: Rename, tree: Tree) -> bool:
    """Then it was copied and removed, file by file, and each of them is in the record."""
    for here, there in ((rename.old, rename.new), (rename.new, rename.old)):
        source = tree.look(here)
        above = parent_of(there)
        while above != b"/" and (found := tree.look(above)).state.kind is Kind.ABSENT:
            above = parent_of(above)
        if source.state.exists and above != b"/" and found.state.exists and source.device != found.device:
            return True
    return False


def still_there(renames: list[Rename], tree: Tree) -> list[Rename]:
    """Without files and links that have neither their first name nor the last: removed or replaced."""
    rename_history = RenameHistory(renames)
    found = set()
    for number, one in enumerate(renames):
        if one.node is None or one.node in found:
            continue
        entry = rename_history.entry_at(one.old, number)
        lookups = [
            tree.look(end) for end in (entry.path, rename_history.final_name(entry)) if end is not None
        ]
        if any(lookup.state.exists and (lookup.device, lookup.inode) == one.node for lookup in lookups):
            found.add(one.node)
    return [one for one in renames if one.node is None or one.node in found]


def choose_moves(
    history: PathHistory, tree: MovedTree, *, undoing: bool, uid: int | None, others: Container[bytes] = ()
) -> Moves:
    """From the last name of every directory that is older than the run to its first, or the other way.

    `uid` is whose files may be removed; None: anybody's. `others` are paths that somebody else made anew.
    """
    return _Chooser(history, tree, undoing=undoing, uid=uid, others=others).choose()


class _Pending(NamedTuple):
    """`recorded` is the source's name in the record, `source` the one it has after the moves so far."""

    recorded: bytes
    source: bytes
    destination: bytes
    kind: Kind
    node: tuple[int, int] | None

    @property
    def move(self) -> Rename:
        return Rename(self.source, self.destination)


class _Waiting:
    """Moves that are still to be made, in the order in which they are tried. It knows what is where, so that
    nobody has to be held against all others."""

    def __init__(self, wanted: Iterable[_Pending]) -> None:
        self._moves: dict[bytes, _Pending] = {}  # by destination
        self._sources: Counter[bytes] = Counter()
        self._inside: Counter[bytes] = Counter()  # sources at a name or below it
        for one in sorted(wanted, key=lambda one: (one.destination.count(b"/"), one.destination)):
            self._put(one)

    def __iter__(self) -> Iterator[_Pending]:
        return iter([*self._moves.values()])

    def __bool__(self) -> bool:
        return bool(self._moves)

    def first_ready(self) -> _Pending | None:
        return next((one for one in self._moves.values() if not self._must_wait(one)), None)

    def is_to_leave(self, name: bytes) -> bool:
        return self._sources[name] > 0

    def remove(self, one: _Pending) -> None:
        del self._moves[one.destination]
        self._count(one.source, -1)

    def follow(self, move: Rename) -> None:
        """A move is made: what was in there has another name now, and some may have come to their place."""
        if not self._inside[move.old] and not self._inside[move.new]:
            return
        for one in self:
            source = forth(one.source, move) or one.source
            if source == one.destination:
                self.remove(one)
            elif source != one.source:
                self._count(one.source, -1)
                self._put(one._replace(source=source))

    def _must_wait(self, one: _Pending) -> bool:
        """Another has to go first: it is under the name, or the place is in one that is itself to move."""
        own = is_at_or_below(one.source, one.destination)
        return self._inside[one.destination] > own or any(
            name in self._moves or self.is_to_leave(name) for name in names_above(parent_of(one.destination))
        )

    def _put(self, one: _Pending) -> None:
        self._moves[one.destination] = one
        self._count(one.source, 1)

    def _count(self, source: bytes, by: int) -> None:
        self._sources[source] += by
        for name in names_above(source):
            self._inside[name] += by


class _Chooser:
    def __init__(
        self,
        history: PathHistory,
        tree: MovedTree,
        *,
        undoing: bool,
        uid: int | None,
        others: Container[bytes],
    ) -> None:
        self._others = others
        self._history = history
        self._tree = tree
        self._undoing = undoing
        self._uid = uid
        self._moves = Moves()
        wanted = (self._wanted(entry, node) for entry, node in history.renamed().items())
        self._waiting = _Waiting(one for one in wanted if one is not None)

    def choose(self) -> Moves:
        while self._waiting:
            ready = self._waiting.first_ready()
            if ready is None:
                self._exchange()
            else:
                self._waiting.remove(ready)
                self._take(ready)
        return self._moves

    def _wanted(self, entry: Entry, node: tuple[int, int] | None) -> _Pending | None:
        before, final = self._history.before(entry), self._history.rename_history.final_name(entry)
        if before is None or before.kind not in _MOVABLE or final is None or final == entry.path:
            return None
        if self._history.after(entry).kind not in {before.kind, Kind.UNKNOWN}:
            return None
        here, there = (final, entry.path) if self._undoing else (entry.path, final)
        return _Pending(here, here, there, before.kind, node)

    def _take(self, one: _Pending) -> None:
        source, destination = self._tree.look(one.source), self._tree.look(one.destination)
        found = source.state.kind
        taken = destination.state.kind is not Kind.ABSENT
        gone = found is Kind.ABSENT and destination.state.kind in {Kind.ABSENT, one.kind}
        if MASKED in one.source or MASKED in one.destination:
            self._refuse(one, "a name of it held a secret")
        elif gone or (taken and self._is_done(one)):
            self._mean(one.move)  # done already, or somebody removed it
        elif found is not one.kind and one.kind is Kind.DIRECTORY:
            self._refuse(one, "what was renamed is not a directory any more")
        elif found is not one.kind or one.node not in {None, (source.device, source.inode)}:
            return  # another one: its content is written, if the record holds it
        elif (cleared := self._what_to_clear(one) if taken else []) is None:
            self._refuse(one, "its name is taken")
        elif why := _no_place(destination, one.destination, self._history.path_records):
            if one.kind is Kind.DIRECTORY:
                self._refuse(one, why)
        else:
            self._moves.steps.extend(cleared)
            self._do(one.move)

    def _exchange(self) -> None:
        """Nobody can go first: two change places, if each has the name that the other is to have."""
        for one in self._waiting:
            ends = (one.source, one.destination)
            if not self._waiting.is_to_leave(one.destination) or is_below(*ends) or is_below(*reversed(ends)):
                continue
            done = self._is_done(one)
            if not done and any(self._tree.look(end).state.kind not in _MOVABLE for end in ends):
                continue
            self._waiting.remove(one)
            (self._mean if done else self._do)(one.move._replace(exchange=True))
            return
        for one in self._waiting:
            if one.kind is Kind.DIRECTORY:  # of anything else the content is written
                self._refuse(one, "its name is taken")
            self._waiting.remove(one)

    def _mean(self, move: Rename) -> None:
        self._moves.meant.add(move)
        self._waiting.follow(move)

    def _do(self, move: Rename) -> None:
        self._moves.steps.append(move)
        states = self._tree.look(move.old).state, self._tree.look(move.new).state
        if any(state.kind in {Kind.FILE, Kind.SYMLINK} for state in states):
            self._moves.files[move] = states
        self._tree.moves.add(move)
        self._mean(move)

    def _refuse(self, one: _Pending, why: str) -> None:
        self._moves.refused.append((one.move, why))

    def _ends(self, record: PathRecord) -> tuple[State, State]:
        """What a path is to become, and what it comes from."""
        return (record.before, record.after) if self._undoing else (record.after, record.before)

    def _is_done(self, one: _Pending) -> bool:
        """Both names are taken: the paths below them tell at which end of the run we are."""
        balance = 0
        for path in {*self._history.recorded_in(one.recorded), *self._history.recorded_in(one.destination)}:
            target, left = self._ends(self._history.path_records[path])
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
            recorded_path = self._tree.where(path) or b""
            record = self._history.path_records.get(recorded_path)
            now = self._tree.look(path).state
            recorded = ABSENT if record is None else self._ends(record)[1]
            foreign = self._uid is not None and now.uid != self._uid
            if not now.exists or not _is_surely(now, recorded) or foreign or recorded_path in self._others:
                return None
            found.append(Cleared(path, now))
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
    """0: another kind; 1: the same kind; 2: alike, as far as can be told without reading it."""
    if now.kind is not recorded.kind:
        return 0
    same = (now.mtime_ns, now.target) == (recorded.mtime_ns, recorded.target)
    return 1 + (same and (now.kind is Kind.DIRECTORY or now.size == recorded.size))


def _no_place(found: Lookup, destination: bytes, path_records: dict[bytes, PathRecord]) -> str | None:
    """Missing directories above the destination must be ones that the plan makes."""
    if found.obstacle is None:
        return None
    if found.blocked is not Kind.ABSENT:
        return f"{os.fsdecode(found.obstacle)} is not a directory any more"
    above = parent_of(destination)
    while is_at_or_below(above, found.obstacle):
        record = path_records.get(above)
        if record is None or Kind.DIRECTORY not in {record.before.kind, record.after.kind}:
            return f"{os.fsdecode(above)} is missing"
        above = parent_of(above)
    return None


def merged_records(history: PathHistory, moves: Moves, *, undoing: bool) -> dict[bytes, PathRecord]:
    merging = _Merging(history, moves, undoing=undoing)
    plain, entries = {}, set()
    for path, record in history.path_records.items():
        if history.rename_history.touches(path):
            entries |= history.rename_history.entries(path)
        else:
            plain[path] = record
    for entry in entries:
        merging.add(entry)
    return plain | merging.path_records()


class _Merging:
    def __init__(self, history: PathHistory, moves: Moves, *, undoing: bool) -> None:
        self._history = history
        self._moves = moves
        self._undoing = undoing
        self._before: dict[bytes, State] = {}
        self._after: dict[bytes, State] = {}
        self._entries: dict[bytes, list[Entry]] = {}

    def add(self, entry: Entry) -> None:
        names = self._history.recorded_names(entry)
        first, final = entry.path, self._history.rename_history.final_name(entry)
        if not names or (entry.path not in names and not self._history.operations(entry) - LOOKING):
            return
        old: bytes | None = first if not entry.since else None
        new: bytes | None = final
        if self._undoing:
            new = self._moves.new_name(final) if final is not None else None
        elif old is not None:
            old = self._moves.new_name(old)
        if old is not None:
            before = self._history.before(entry)
            if before is not None or old == new:
                self._before[old] = UNKNOWN if before is None else before
            self._entries.setdefault(old, []).append(entry)
        if new is not None:
            self._after[new] = self._history.after(entry)
            self._entries.setdefault(new, []).append(entry)

    def path_records(self) -> dict[bytes, PathRecord]:
        return {path: self._draft(path, entries) for path, entries in self._entries.items()}

    def _draft(self, path: bytes, entries: list[Entry]) -> PathRecord:
        names = frozenset(name for entry in entries for name in self._history.recorded_names(entry))
        found = [self._history.path_records[name] for name in sorted(names)]
        return PathRecord(
            before=self._before.get(path, ABSENT),
            after=self._after.get(path, ABSENT),
            operations=frozenset().union(*(record.operations for record in found)),
            names=names | {path},
            also_accepted=() if self._undoing else tuple(record.before for record in found),
        )
