"""Directories that the run renamed: which to rename back (or again), and what their content is called then.

In: the drafts of a plan, by path, and the tree. Out: `Moves`: the renames to do, in order, those that
cannot be done, and drafts under the names they will have afterwards. A file that the run first met below
the new name of a directory was, before the run, below the old one. Never renames anything: `MovedTree` only
looks as if.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from steno.restore.looking import Sight, Tree
from steno.restore.states import (
    ABSENT,
    UNKNOWN,
    DirectoryRename,
    Kind,
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


class Move(NamedTuple):
    source: bytes
    destination: bytes


class Moves(NamedTuple):
    done: list[Move]
    refused: list[tuple[DirectoryRename, str]]


class MovedTree:
    """A tree as it will be when the moves are done."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.moves: list[Move] = []

    def where(self, path: bytes) -> bytes | None:
        """Where it is now; None: it will have been moved away."""
        for source, destination in reversed(self.moves):
            if is_at_or_below(path, destination):
                path = source + path[len(destination) :]
            elif is_at_or_below(path, source):
                return None
        return path

    def look(self, path: bytes) -> Sight:
        now = self.where(path)
        if now is None:
            return Sight(ABSENT)
        found = self._tree.look(now)
        if found.obstacle is None or now == path:
            return found
        return found._replace(obstacle=path[: len(found.obstacle) - len(now)])

    def names(self, directory: bytes) -> list[bytes] | None:
        now = self.where(directory)
        found = self._tree.names(now) if now is not None else []
        if found is None:
            return None
        base = directory.rstrip(b"/") + b"/"
        kept = {name for name in found if self.where(base + name) == (now or b"").rstrip(b"/") + b"/" + name}
        arrived = {move.destination for move in self.moves if parent_of(move.destination) == directory}
        return sorted(kept | {path.rpartition(b"/")[2] for path in arrived if self.look(path).state.exists})

    def holds(self, path: bytes, content: bytes) -> bool | None:
        now = self.where(path)
        return None if now is None else self._tree.holds(now, content)


def undo_renames(renames: list[DirectoryRename], drafts: dict[bytes, Draft], tree: MovedTree) -> Moves:
    """Rename back, the last one first; the drafts get the names of before the run."""
    moves = Moves([], [])
    for rename in reversed(_that_happened(renames, drafts)):
        if _crosses_devices(Move(rename.new, rename.old), tree):
            continue
        _move(rename, Move(rename.new, rename.old), tree, drafts, moves)
        if not moves.refused:
            _give_old_names(rename, drafts)
    return moves


def redo_renames(renames: list[DirectoryRename], drafts: dict[bytes, Draft], tree: MovedTree) -> Moves:
    """Rename again, in order; what was below the old name is then met below the new one."""
    moves = Moves([], [])
    for rename in _that_happened(renames, drafts):
        if _crosses_devices(Move(rename.old, rename.new), tree):
            continue
        _move(rename, Move(rename.old, rename.new), tree, drafts, moves)
        for path, draft in drafts.items():
            earlier = drafts.get(rename.old + path[len(rename.new) :]) if is_below(path, rename.new) else None
            if earlier:
                accepted = (*draft.also_accepted, earlier.before, *earlier.also_accepted)
                drafts[path] = draft._replace(also_accepted=accepted)
    return moves


def _that_happened(renames: list[DirectoryRename], drafts: dict[bytes, Draft]) -> list[DirectoryRename]:
    """The record holds what was tried; what was there before and after tells what the kernel refused."""
    found = []
    taken: dict[bytes, bool] = {}
    last_as_old = {one.old: number for number, one in enumerate(renames)}
    last_as_new = {one.new: number for number, one in enumerate(renames)}
    for number, one in enumerate(renames):
        old, new = drafts.get(one.old), drafts.get(one.new)
        if old is None or new is None or is_at_or_below(one.old, one.new) or is_below(one.new, one.old):
            continue
        stayed = old.after.kind is Kind.DIRECTORY
        moved_on = max(last_as_old.get(one.new, 0), last_as_new.get(one.old, 0)) > number
        if stayed and taken.get(one.new, new.before.exists):
            continue
        if stayed and new.after.kind is Kind.ABSENT and not moved_on:
            continue
        taken |= {one.old: False, one.new: True}
        found.append(one)
    return found


def _crosses_devices(move: Move, tree: MovedTree) -> bool:
    """Then it was copied and removed, file by file, and each of them is in the record."""
    source = tree.look(move.source)
    above = parent_of(move.destination)
    while above != b"/" and (found := tree.look(above)).state.kind is Kind.ABSENT:
        above = parent_of(above)
    return source.state.exists and above != b"/" and found.state.exists and source.device != found.device


def _move(
    rename: DirectoryRename, move: Move, tree: MovedTree, drafts: dict[bytes, Draft], moves: Moves
) -> None:
    source, destination = tree.look(move.source), tree.look(move.destination)
    if source.state.kind is Kind.ABSENT and destination.state.kind in {Kind.ABSENT, Kind.DIRECTORY}:
        return  # done already, or the run removed it later
    if source.state.kind is not Kind.DIRECTORY:
        moves.refused.append((rename, "what was renamed is not a directory any more"))
    elif destination.state.kind is not Kind.ABSENT:
        moves.refused.append((rename, "its name is taken"))
    elif why := _no_place(destination, move.destination, drafts):
        moves.refused.append((rename, why))
    else:
        moves.done.append(move)
        tree.moves.append(move)


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


def _give_old_names(rename: DirectoryRename, drafts: dict[bytes, Draft]) -> None:
    replaced = drafts.get(rename.new)
    stood_there = replaced is not None and replaced.before.kind is Kind.DIRECTORY
    earlier = {path for path in drafts if is_at_or_below(path, rename.old)}
    for path in [path for path in drafts if is_at_or_below(path, rename.new)]:
        draft = drafts.pop(path)
        old_path = rename.old + path[len(rename.new) :]
        first = drafts.get(old_path)
        names_of_before = path == rename.new or stood_there
        if draft.before.exists and names_of_before:
            drafts[path] = draft._replace(after=ABSENT)
        if first is not None:
            drafts[old_path] = first._replace(
                after=draft.after,
                operations=first.operations | draft.operations,
                names=first.names | draft.names,
            )
            earlier.discard(old_path)
        elif not (draft.before.exists and names_of_before) and draft.operations - LOOKING:
            drafts[old_path] = draft._replace(names=draft.names | {old_path})
    for path in earlier:  # they went along; nobody looked at them under the new name
        if drafts[path].after.kind is Kind.ABSENT:
            drafts[path] = drafts[path]._replace(after=UNKNOWN)
