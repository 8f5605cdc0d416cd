"""Drafts under the names that things will have when the renamed directories have moved.

In: what the record says, and the moves. Out: drafts by path: what was there before the run, and what the run
left, of whatever is at that path once the moves are done. Never looks at the file system.
"""

from __future__ import annotations

from steno.restore.history import LOOKING, Draft, History
from steno.restore.journeys import Thing
from steno.restore.renames import Moves
from steno.restore.states import ABSENT, UNKNOWN, State


def merged_drafts(history: History, moves: Moves, *, undoing: bool) -> dict[bytes, Draft]:
    merging = _Merging(history, moves, undoing=undoing)
    plain, things = {}, set()
    for path, draft in history.drafts.items():
        if history.journeys.touches(path):
            things |= history.journeys.things(path)
        else:
            plain[path] = draft
    for thing in things:
        merging.add(thing)
    return plain | merging.drafts()


class _Merging:
    def __init__(self, history: History, moves: Moves, *, undoing: bool) -> None:
        self._history = history
        self._moves = moves
        self._undoing = undoing
        self._before: dict[bytes, State] = {}
        self._after: dict[bytes, State] = {}
        self._things: dict[bytes, list[Thing]] = {}

    def add(self, thing: Thing) -> None:
        names = self._history.recorded_names(thing)
        first, final = thing.path, self._history.journeys.final_name(thing)
        if not names or (thing.path not in names and not self._history.operations(thing) - LOOKING):
            return
        old: bytes | None = first if not thing.since else None
        new: bytes | None = final
        if self._undoing:
            new = self._moves.new_name(final) if final is not None else None
        elif old is not None:
            old = self._moves.new_name(old)
        if old is not None:
            before = self._history.before(thing)
            if before is not None or old == new:
                self._before[old] = UNKNOWN if before is None else before
            self._things.setdefault(old, []).append(thing)
        if new is not None:
            self._after[new] = self._history.after(thing)
            self._things.setdefault(new, []).append(thing)

    def drafts(self) -> dict[bytes, Draft]:
        return {path: self._draft(path, things) for path, things in self._things.items()}

    def _draft(self, path: bytes, things: list[Thing]) -> Draft:
        names = frozenset(name for thing in things for name in self._history.recorded_names(thing))
        found = [self._history.drafts[name] for name in sorted(names)]
        return Draft(
            before=self._before.get(path, ABSENT),
            after=self._after.get(path, ABSENT),
            operations=frozenset().union(*(draft.operations for draft in found)),
            names=names | {path},
            also_accepted=() if self._undoing else tuple(draft.before for draft in found),
        )
