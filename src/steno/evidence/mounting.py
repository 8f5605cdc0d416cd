"""What a call of mount(2) means by its flags, and which paths lie below where something was mounted."""

from __future__ import annotations

from collections.abc import Collection

_REMOUNT, _BIND = 1 << 5, 1 << 12
_PROPAGATION = 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20
_OLD_MAGIC, _OLD_MAGIC_BITS = 0xC0ED0000, 0xFFFF0000


def mounts_something(flags: int) -> bool:
    """In the order in which the kernel looks at them: other calls change what is mounted already."""
    if flags & _OLD_MAGIC_BITS == _OLD_MAGIC:
        flags &= ~_OLD_MAGIC_BITS
    return not flags & _REMOUNT and bool(flags & _BIND or not flags & _PROPAGATION)


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
