"""What a call amounts to: read, written, created, deleted, or only tried."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

import pytest

from steno.evidence import wire
from steno.judge.operations import CREATED, DELETED, READ, WRITTEN, effect, has_failed_to_reach

DIRECTORY = stat.S_IFDIR | 0o755
MADE = CREATED | WRITTEN
LATE, EXCHANGE = wire.NOTES["late"], wire.NOTES["exchange"]


def bits(op: str, arg: int = 0, **more: Any) -> int:
    return effect_of(op, arg, **more)[0]


def effect_of(op: str, arg: int = 0, **more: Any) -> tuple[int, bool]:
    fields: dict[str, Any] = {"notes": 0, "result": None, "exists": True, "mode": stat.S_IFREG}
    return effect(op, arg, **(fields | more))


@pytest.mark.parametrize(
    ("flags", "exists", "expected"),
    [
        (os.O_RDONLY, True, READ),
        (os.O_RDWR, True, READ | WRITTEN),
        (os.O_WRONLY, True, WRITTEN),
        (os.O_RDONLY | os.O_TRUNC, True, READ | WRITTEN),
        (os.O_WRONLY | os.O_CREAT, True, WRITTEN),
        (os.O_WRONLY | os.O_CREAT, False, MADE),
        (os.O_WRONLY | os.O_CREAT, None, WRITTEN),
        (os.O_RDONLY | os.O_CREAT, False, READ | MADE),
        (os.O_PATH, True, 0),
        (os.O_RDONLY | os.O_DIRECTORY, True, 0),
        (os.O_WRONLY | os.O_TMPFILE, True, 0),
    ],
)
def test_an_open_is_what_its_flags_and_the_state_before_say(
    flags: int, exists: bool | None, expected: int
) -> None:
    assert effect_of("open", flags, exists=exists) == (expected, False)
    assert effect_of("open_handle", flags, exists=exists, result=0) == (expected, False)


def test_a_directory_is_read_when_it_is_listed_not_when_it_is_opened() -> None:
    assert bits("open", mode=DIRECTORY) == 0
    assert bits("list", mode=DIRECTORY) == READ
    assert effect_of("open", os.O_DIRECTORY, result=-errno.EACCES) == (READ, True)


def test_what_is_not_there_cannot_have_been_opened_unless_the_kernel_says_so() -> None:
    assert effect_of("open", exists=False) == (READ, True)
    assert effect_of("open", exists=False, result=0) == (READ, False)
    assert effect_of("open", exists=False, notes=LATE) == (READ, False)


def test_a_state_that_was_looked_up_later_does_not_tell_what_was_created() -> None:
    assert bits("open", os.O_WRONLY | os.O_CREAT, exists=False, notes=LATE) == WRITTEN
    assert bits("rename_to", exists=False, notes=LATE) == WRITTEN


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        *[(op, MADE) for op in ("mkdir", "mknod", "symlink", "link_to", "moved_to")],
        *[(op, DELETED) for op in ("unlink", "rmdir", "rename", "moved")],
        *[(op, WRITTEN) for op in ("truncate", "map", "chmod", "chown", "utimes", "setxattr", "mount")],
        *[(op, 0) for op in ("stat", "access", "readlink", "follow", "chdir", "watch", "link", "getxattr")],
    ],
)
def test_every_operation_has_its_effect_and_a_look_has_none(op: str, expected: int) -> None:
    assert bits(op) == expected


def test_a_rename_creates_its_new_name_only_where_nothing_was() -> None:
    assert bits("rename_to", exists=False) == MADE
    assert bits("rename_to", exists=True) == WRITTEN
    assert bits("rename", notes=EXCHANGE) == bits("rename_to", exists=True, notes=EXCHANGE) == WRITTEN


@pytest.mark.parametrize("result", [-errno.EACCES, wire.RESULT_FAILED])
def test_a_failure_is_told_with_what_was_tried(result: int) -> None:
    assert effect_of("unlink", result=result) == (DELETED, True)


def test_a_connection_that_is_being_made_has_not_failed() -> None:
    assert not has_failed_to_reach("connect", -errno.EINPROGRESS)
    assert not has_failed_to_reach("connect", None)
    assert has_failed_to_reach("connect", -errno.ECONNREFUSED)
    assert has_failed_to_reach("send", -errno.EINPROGRESS)
