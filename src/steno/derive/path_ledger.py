"""The paths that a command touched: who was seen first, and what was done to each.

In: batches of observed calls, as columns. Out: for every path its operations, and the row of the first call
that looked at it, which tells its state before. What was looked at only after a call that may have changed it
(`late`) tells nothing of before, nor does what is below a directory that was renamed so. Works on whole
columns, so that millions of calls take seconds. Never knows where the columns come from: the frames of a
spool and the table of a bundle use it alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from steno.derive.late_renames import LateRenames
from steno.derive.operations import CHANGING, ON_FILES, Call, operations
from steno.events import wire

NOBODY_LOOKED, ABSENT, FOUND = wire.STATE_NONE, wire.STATE_ABSENT, wire.STATE_FIRST
# In another root the name is somebody else's; what was deleted has none.
_ELSEWHERE = wire.NOTES["other_root"] | wire.NOTES["deleted"]
_LATE, _EXCHANGE = wire.NOTES["late"], wire.NOTES["exchange"]
_RENAMES = frozenset({"rename", "rename_to", "moved_to"})

Key = TypeVar("Key", bound=Hashable)


class Rows(NamedTuple, Generic[Key]):
    """The calls of a batch. A key that is false stands for no path."""

    key: Sequence[Key]
    op: Sequence[str]
    arg: Sequence[int]
    notes: Sequence[int]
    failed: Sequence[bool]
    look: Sequence[int]  # NOBODY_LOOKED, ABSENT or FOUND
    mode: Sequence[int]  # of what was found, else 0


class PathLedger(Generic[Key]):
    def __init__(self, name_of: Callable[[Key], bytes]) -> None:
        self.operations: dict[Key, set[str]] = {}  # in order of first sight
        self.late_renames = LateRenames()
        self._name_of = name_of
        self._looked_at: set[Key] = set()
        self._looked_at_late: set[Key] = set()

    def knows_before(self, key: Key) -> bool:
        """Whether the first look at a path can be its state before the command."""
        if key not in self._looked_at_late:
            return True
        return not self.operations[key] & CHANGING and not self.late_renames.may_hide(self._name_of(key))

    def take(self, rows: Rows[Key]) -> Iterator[tuple[Key, int]]:
        """Note a batch. Gives every path that is looked at for the first time, and the row that does.

        A path whose first look was late is given again when there is a better one.
        """
        keys = [
            key if key and op in ON_FILES and not notes & _ELSEWHERE else None
            for key, op, notes in zip(rows.key, rows.op, rows.notes, strict=True)
        ]
        for key in dict.fromkeys(keys):
            if key is not None:
                self.operations.setdefault(key, set())
        calls = zip(keys, rows.op, rows.arg, rows.notes, rows.failed, rows.look, rows.mode, strict=True)
        for key, op, arg, notes, failed, look, mode in set(calls):
            if key is not None:
                call = Call(op, arg, notes, failed=failed, mode=mode, absent=look == ABSENT)
                self.operations[key] |= operations(call)
        if self.late_renames or any(notes & _LATE for notes in rows.notes):
            yield from self._first_looks_of(keys, rows)
        else:
            yield from self._first_looks(keys, rows.look)

    def _first_looks_of(self, keys: Sequence[Key | None], rows: Rows[Key]) -> Iterator[tuple[Key, int]]:
        """Row by row: what counts depends on what came before."""
        for row, (key, look, notes) in enumerate(zip(keys, rows.look, rows.notes, strict=True)):
            if key is None:
                continue
            spoilt = self._is_spoilt(key, row, rows)
            if not look or key in self._looked_at:
                continue
            if not notes & _LATE and not spoilt:
                self._looked_at.add(key)
                self._looked_at_late.discard(key)
                yield key, row
                continue
            if key not in self._looked_at_late:
                self._looked_at_late.add(key)
                yield key, row
            call = Call(rows.op[row], rows.arg[row], notes, failed=rows.failed[row], mode=0, absent=False)
            if operations(call) & CHANGING:
                self._looked_at.add(key)  # from now on every look comes too late

    def _is_spoilt(self, key: Key, row: int, rows: Rows[Key]) -> bool:
        """Whether a row tells nothing of before, because directories were renamed and told late."""
        if rows.failed[row]:
            return False
        op, notes = rows.op[row], rows.notes[row]
        spoilt = False
        if self.late_renames and key not in self._looked_at:
            spoilt = self.late_renames.spoil(op, self._name_of(key), found=rows.look[row] == FOUND)
        if notes & _LATE and op in _RENAMES:
            self.late_renames.add(op, self._name_of(key), exchange=bool(notes & _EXCHANGE))
        return spoilt

    def _first_looks(self, keys: Sequence[Key | None], looks: Sequence[int]) -> Iterator[tuple[Key, int]]:
        looked = [key if look else None for key, look in zip(keys, looks, strict=True)]
        first_rows = dict(zip(reversed(looked), reversed(range(len(looked))), strict=True))
        new = [
            (row, key) for key, row in first_rows.items() if key is not None and key not in self._looked_at
        ]
        for row, key in sorted(new, key=lambda pair: pair[0]):
            self._looked_at.add(key)
            self._looked_at_late.discard(key)
            yield key, row
