"""Directories upon which the run mounted something, or from which it took a mount away.

In: observed calls, as columns. Out: their names, and whether a path lies at or below one of them. Such a path
means one file at one time and another at another, and the file may have a second name elsewhere: of its
states nothing is said. What is mounted in another mount namespace concerns nobody here. Never looks at a
file.
"""

from __future__ import annotations

from collections.abc import Collection

from steno.evidence import wire
from steno.judge.path_ledger import Key, Rows

_MOUNT, _UMOUNT = "mount", "umount"
_OTHER_ROOT = wire.NOTES["other_root"]
# Flags of mount(2).
_REMOUNT, _BIND = 1 << 5, 1 << 12
_PROPAGATION = 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20
_OLD_MAGIC, _OLD_MAGIC_BITS = 0xC0ED0000, 0xFFFF0000


def mounted_upon(rows: Rows[Key]) -> set[Key]:
    if _MOUNT not in rows.op and _UMOUNT not in rows.op:
        return set()
    calls = zip(rows.key, rows.op, rows.arg, rows.notes, rows.failed, strict=True)
    return {
        key
        for key, op, arg, notes, failed in calls
        if key
        and (op == _UMOUNT or (op == _MOUNT and _is_new_mount(arg)))
        and not (failed or notes & _OTHER_ROOT)
    }


def lies_below(path: bytes, directories: Collection[bytes | None]) -> bool:
    """Whether it is one of the directories, or is below one."""
    if not directories:
        return False
    while path not in directories:
        above = path.rpartition(b"/")[0] or b"/"
        if above == path or not path.startswith(b"/"):
            return False
        path = above
    return True


def _is_new_mount(flags: int) -> bool:
    """In the order in which the kernel looks at them: other calls change what is mounted already."""
    if flags & _OLD_MAGIC_BITS == _OLD_MAGIC:
        flags &= ~_OLD_MAGIC_BITS
    return not flags & _REMOUNT and bool(flags & _BIND or not flags & _PROPAGATION)
