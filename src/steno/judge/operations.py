"""What a call did to the path it names: read, write, existence, directory, delete, execute, metadata.

A call that is known to have failed only asked whether the path is there. A surface has fewer words, as bits.
"""

from __future__ import annotations

import stat
from functools import lru_cache
from typing import NamedTuple

from steno.evidence import wire
from steno.evidence.linux_abi import (
    O_ACCMODE,
    O_CREAT,
    O_DIRECTORY,
    O_PATH,
    O_RDWR,
    O_TMPFILE_ONLY,
    O_TRUNC,
    O_WRONLY,
)
from steno.evidence.linux_numbers import may_have_connected

MEANING_OF_OPEN = O_ACCMODE | O_CREAT | O_TRUNC

_NONE: frozenset[str] = frozenset()
_EXISTENCE = frozenset({"existence"})
_READ = frozenset({"read"})
_WRITE = frozenset({"write"})
_DIRECTORY = frozenset({"directory"})
OPENING = frozenset({"open", "open_handle"})
CHANGING_CALLS = frozenset(op.name for op in wire.OPS.values() if op.changes)  # whatever the arguments are
_FIXED = {
    **dict.fromkeys(("stat", "access", "statfs", "getxattr", "handle", "link"), _EXISTENCE),
    **dict.fromkeys(("list", "chdir", "chroot", "mount", "umount", "pivot_root"), _DIRECTORY),
    **dict.fromkeys(("rename_to", "moved_to", "link_to", "symlink", "mknod", "truncate", "map"), _WRITE),
    **dict.fromkeys(("unlink", "rename", "moved"), frozenset({"delete"})),
    **dict.fromkeys(
        ("chmod", "chown", "utimes", "setxattr", "removexattr", "setattr"), frozenset({"metadata"})
    ),
    **dict.fromkeys(("exec", "interpreter"), frozenset({"execute", "read"})),
    "mkdir": frozenset({"write", "directory"}),
    "rmdir": frozenset({"delete", "directory"}),
}
_LOOKING = frozenset({"readlink", "follow", "watch"})

# Operations that name a path of the file system: what `files.json` tells of.
ON_FILES = frozenset({*OPENING, *_FIXED, *_LOOKING})
CHANGING = frozenset({"write", "delete", "metadata"})
NEVER_CHANGING = ON_FILES - OPENING - {op for op, done in _FIXED.items() if done & CHANGING}
# What these change must be there.
NEEDING = frozenset(
    {
        *("unlink", "rmdir", "rename", "moved", "truncate", "map"),
        *("chmod", "chown", "utimes", "setxattr", "removexattr", "setattr"),
    }
)


class Call(NamedTuple):
    op: str
    arg: int
    notes: int
    failed: bool  # known to have failed
    mode: int  # of what was found, 0 where nothing was, or nobody looked
    absent: bool


def operations(call: Call) -> frozenset[str]:
    if call.op not in ON_FILES:
        return _NONE
    if call.failed:
        return _EXISTENCE
    if call.op in OPENING:
        return _opened(call)
    if call.op in _LOOKING:
        return _looked(call)
    if call.op == "rename" and call.notes & wire.NOTES["exchange"]:
        return _WRITE
    return _FIXED[call.op]


def has_failed(result: int | None) -> bool:
    """Whether a call is known to have failed, with a reason or without."""
    return result is not None and (result < 0 or result == wire.RESULT_FAILED)


def access(flags: int) -> str:
    """How a file is opened: `read`, `write` or `read_write`."""
    return {O_WRONLY: "write", O_RDWR: "read_write"}.get(flags & O_ACCMODE, "read")


def creates(flags: int) -> bool:
    return bool(flags & O_CREAT)


def truncates(flags: int) -> bool:
    return bool(flags & O_TRUNC)


def only_names(flags: int) -> bool:
    """Whether a file is opened as a name, which gives no way to its content."""
    return bool(flags & O_PATH)


def opens_directory(flags: int, mode: int) -> bool:
    """Whether it is a directory that is opened, also to make a file in it that has no name."""
    return bool(flags & (O_TMPFILE_ONLY | O_DIRECTORY)) or stat.S_ISDIR(mode)


def _opened(call: Call) -> frozenset[str]:
    flags = call.arg
    if only_names(flags) or (call.absent and not creates(flags)):
        return _EXISTENCE
    if opens_directory(flags, call.mode):
        return _DIRECTORY
    found = frozenset(access(flags).split("_"))
    return found | _WRITE if call.absent or truncates(flags) else found


def _looked(call: Call) -> frozenset[str]:
    if stat.S_ISLNK(call.mode):
        return _READ
    if call.op == "watch" and stat.S_ISDIR(call.mode):
        return _DIRECTORY
    return _EXISTENCE


READ, WRITTEN, CREATED, DELETED = 1, 2, 4, 8
CHANGED = WRITTEN | CREATED | DELETED
_MADE = CREATED | WRITTEN
_EFFECTS = {
    "list": READ,
    **dict.fromkeys(("mkdir", "mknod", "symlink", "link_to", "moved_to"), _MADE),
    **dict.fromkeys(("unlink", "rmdir", "rename", "moved"), DELETED),
    **dict.fromkeys(
        (
            *("truncate", "map", "chmod", "chown", "utimes", "setxattr", "removexattr", "setattr"),
            *("mount", "umount", "pivot_root", "rename_to"),
        ),
        WRITTEN,
    ),
}
ON_CONTENT = frozenset({*OPENING, *_EFFECTS})
_EXCHANGE, _LATE = wire.NOTES["exchange"], wire.NOTES["late"]
_MEANT = _EXCHANGE | _LATE
_KINDS_OF_CALLS = 1 << 12


def effect(
    op: str, arg: int, notes: int, result: int | None, exists: int | None, mode: int
) -> tuple[int, bool]:
    """The bits, and whether the call is known to have failed."""
    return _effect(op, arg, notes & _MEANT, result, exists, stat.S_IFMT(mode))


@lru_cache(_KINDS_OF_CALLS)
def _effect(
    op: str, arg: int, notes: int, result: int | None, exists: int | None, mode: int
) -> tuple[int, bool]:
    absent = exists is not None and not exists and not notes & _LATE  # later is not before
    failed = has_failed(result)
    if op in OPENING:
        failed = failed or (result is None and absent and not creates(arg))
        return _effects_of_open(Call(op, arg, notes, failed=failed, mode=mode, absent=absent)), failed
    if op == "rename" and notes & _EXCHANGE:
        return WRITTEN, failed
    if op == "rename_to" and absent and not notes & _EXCHANGE:
        return _MADE, failed
    return _EFFECTS.get(op, 0), failed


def _effects_of_open(call: Call) -> int:
    if only_names(call.arg):
        return 0
    if opens_directory(call.arg, call.mode):  # what it lists is told by `list`, if it gets that far
        return READ if call.failed else 0
    bits = {"read": READ, "write": WRITTEN, "read_write": READ | WRITTEN}[access(call.arg)]
    if truncates(call.arg):
        bits |= WRITTEN
    return bits | _MADE if creates(call.arg) and call.absent else bits


def has_failed_to_reach(op: str, result: int | None) -> bool:
    """Whether a call that names an endpoint is known to have failed."""
    return has_failed(result) and not (op == "connect" and may_have_connected(result or 0))
