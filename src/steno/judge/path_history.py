"""The paths that a command touched: what was done to each, and what was there before it changed any.

The state before is that of the command's own first change of a path, or, if nobody looked just then, the
first earlier one that found as much. What somebody else did before that is no change of the command's. What
was looked at only after a call that may have changed it (`late`) tells nothing of before, nor does what is
below a directory that was renamed so. It is made for millions of calls.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from steno.evidence import wire
from steno.evidence.ignore_rules import mounts_something
from steno.judge.operations import CHANGING, NEEDING, NEVER_CHANGING, ON_FILES, Call, operations

NOBODY_LOOKED, ABSENT, FOUND = wire.STATE_NONE, wire.STATE_ABSENT, wire.STATE_FIRST
# In another root the name is somebody else's; what was deleted has none.
_ELSEWHERE = wire.NOTES["other_root"] | wire.NOTES["deleted"]
_LATE, _EXCHANGE = wire.NOTES["late"], wire.NOTES["exchange"]
_RENAMES = frozenset({"rename", "rename_to", "moved_to"})

_DIRECTORY = FOUND + 1

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


class PathHistory(Generic[Key]):
    def __init__(self, name_of: Callable[[Key], bytes]) -> None:
        self.operations: dict[Key, set[str]] = {}  # in order of first sight
        self.late_renames = LateRenames()
        self._name_of = name_of
        self._looked_at: dict[Key, int] = {}  # before the command changed it: what was found there
        self._looked_at_late: set[Key] = set()
        self._changed: set[Key] = set()  # from now on no look tells of before
        self.found_different: set[Key] = set()  # what was found there before was not always the same
        self._changes: dict[tuple[str, int, int, bool, int], bool] = {}

    def knows_before(self, key: Key) -> bool:
        """Whether the first look at a path can be its state before the command."""
        if key not in self._looked_at_late:
            return True
        return not self.operations[key] & CHANGING and not self.late_renames.may_hide(self._name_of(key))

    def take(self, rows: Rows[Key]) -> Iterator[tuple[Key, int]]:
        """Note a batch. Gives paths and the rows that tell what was there before.

        A path is given again when a later row tells better: the last one counts.
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
        yield from self._before_changes(keys, rows)

    def would_repeat(self, row: int, rows: Rows[Key]) -> bool:
        """Whether to take such a call again would change nothing, if no other one of its path came between
        that found something else, and no directory was renamed late."""
        key = rows.key[row]
        if rows.notes[row] & _LATE:
            return False
        return key in self._changed or not self.may_change(row, rows)

    def may_spoil(self, rows: Rows[Key]) -> bool:
        """Whether directories were renamed late: then each look may be one below them."""
        notes = zip(rows.op, rows.notes, strict=True)
        return bool(self.late_renames) or any(bits & _LATE and op in _RENAMES for op, bits in notes)

    def _before_changes(self, keys: Sequence[Key | None], rows: Rows[Key]) -> Iterator[tuple[Key, int]]:
        told_late = bool(self.late_renames) or any(notes & _LATE for notes in rows.notes)
        changed, looks = self._changed, rows.look
        for row, key in enumerate(keys):
            if key is None or (key in changed and not told_late):
                continue
            late = told_late and (self._is_spoilt(key, row, rows) or bool(rows.notes[row] & _LATE))
            if key in changed:
                continue
            look, changes = looks[row], self.may_change(row, rows)
            if look and not late:
                if self._tells(key, _kind(look, rows.mode[row]), changes=changes):
                    yield key, row
            elif look and key not in self._looked_at and key not in self._looked_at_late:
                self._looked_at_late.add(key)
                yield key, row
            if changes and (look or key in self._looked_at):
                changed.add(key)

    def _tells(self, key: Key, kind: int, *, changes: bool) -> bool:
        """Whether a look tells better what was there before than those that came before it. Of a directory
        the first one does: its time changes with what the command does in it."""
        if self._looked_at.get(key) == kind and (kind == _DIRECTORY or not changes):
            return False
        if self._looked_at.setdefault(key, kind) != kind:
            self.found_different.add(key)
        self._looked_at[key] = kind
        self._looked_at_late.discard(key)
        return True

    def may_change(self, row: int, rows: Rows[Key]) -> bool:
        """Whether a call may have changed what its path names. Nothing is taken away where nothing is; where
        nothing is any more, somebody may have looked only after it was taken away."""
        if rows.op[row] in NEVER_CHANGING:
            return False
        absent = rows.look[row] == ABSENT
        told = rows.op[row], rows.arg[row], rows.notes[row], rows.failed[row], absent
        found = self._changes.get(told)
        if found is None:
            op, arg, notes, failed, absent = told
            call = Call(op, arg, notes, failed=failed, mode=0, absent=absent)
            in_vain = absent and op in NEEDING and not notes & _LATE
            found = self._changes[told] = bool(operations(call) & CHANGING) and not in_vain
        return found

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


def _kind(look: int, mode: int) -> int:
    return _DIRECTORY if look == FOUND and stat.S_ISDIR(mode) else look


_MOUNT, _UMOUNT = "mount", "umount"
MOUNTING = frozenset({_MOUNT, _UMOUNT})
_OTHER_ROOT = wire.NOTES["other_root"]


def mounted_upon(rows: Rows[Key]) -> set[Key]:
    if MOUNTING.isdisjoint(rows.op):
        return set()
    calls = zip(rows.key, rows.op, rows.arg, rows.notes, rows.failed, strict=True)
    return {
        key
        for key, op, arg, notes, failed in calls
        if key
        and (op == _UMOUNT or (op == _MOUNT and mounts_something(arg)))
        and not (failed or notes & _OTHER_ROOT)
    }


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
