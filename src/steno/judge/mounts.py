"""Directories upon which the run mounted something, or from which it took a mount away.

In: observed calls, as columns. Out: their names. A path at or below one of them
means one file at one time and another at another, and the file may have a second name elsewhere: of its
states nothing is said. What is mounted in another mount namespace concerns nobody here. Never looks at a
file.
"""

from __future__ import annotations

from steno.evidence import wire
from steno.evidence.mounting import mounts_something
from steno.judge.path_ledger import Key, Rows

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
