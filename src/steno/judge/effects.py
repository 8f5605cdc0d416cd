"""What a call amounts to in a capability surface: which files it reads or changes, and whether it worked.

In: one observed call. Out: bits of `READ`, `WRITTEN`, `CREATED` and `DELETED`, and whether it is known to
have failed. A look (stat, access, the target of a link) is none of them: it neither reads content nor
changes anything. What nobody can tell counts as done. Never looks at a file.
"""

from __future__ import annotations

import stat
from functools import lru_cache

from steno.evidence import wire
from steno.evidence.linux_numbers import may_have_connected
from steno.judge.operations import (
    OPENING,
    Call,
    access,
    creates,
    has_failed,
    only_names,
    opens_directory,
    truncates,
)

READ, WRITTEN, CREATED, DELETED = 1, 2, 4, 8
CHANGED = WRITTEN | CREATED | DELETED
_MADE = CREATED | WRITTEN
_FIXED = {
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
ON_CONTENT = frozenset({*OPENING, *_FIXED})
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
        return _opened(Call(op, arg, notes, failed=failed, mode=mode, absent=absent)), failed
    if op == "rename" and notes & _EXCHANGE:
        return WRITTEN, failed
    if op == "rename_to" and absent and not notes & _EXCHANGE:
        return _MADE, failed
    return _FIXED.get(op, 0), failed


def _opened(call: Call) -> int:
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
