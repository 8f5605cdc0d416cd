"""The files of a stranger's record: what no recorder writes is refused, whole."""

from __future__ import annotations

import stat
from typing import Any

import pytest
from msgspec.structs import replace

from steno.errors import BadBundleError
from steno.judge.types import File, FileState, ThingRenamed
from steno.restore.states import ABSENT, UNKNOWN, Kind, State, is_at_or_below, parent_of, read_records

FILE = FileState("file", mode=stat.S_IFREG | 0o4755, mtime_ns=1, size=3, uid=0, gid=0)
LINK = FileState("symlink", mode=stat.S_IFLNK | 0o777, mtime_ns=1, size=5, uid=0, gid=0, target="there")
NOT_THERE, NOT_KNOWN = FileState("absent"), FileState(None)


def record(
    path: bytes = b"/a",
    *,
    before: FileState = NOT_THERE,
    after: FileState = FILE,
    change: str = "none",
) -> File:
    return File(path, [], before, after, change)


def test_states_are_read_as_they_were_concluded() -> None:
    owned = replace(FILE, uid=1000, gid=100, mtime_ns=1_700_000_000_123_456_789, blob="after:/a")
    elsewhere = replace(LINK, target="\\xff", target_bytes=b"\xff")
    found = read_records(
        [
            record(after=owned),
            record(b"/\xff", before=elsewhere, after=NOT_THERE),
            record(b"/c", before=NOT_KNOWN, after=replace(FILE, no_content_reason="too_large")),
            record(b"/"),
        ],
        [
            ThingRenamed(b"/d", b"/e", exchanged=False, node=None),
            ThingRenamed(b"/\xfe", b"/y", exchanged=True, node=(7, 9)),
        ],
    )
    first, second, third, top = found.files
    assert first.after == State(Kind.FILE, 0o4755, 1_700_000_000_123_456_789, 3, 1000, 100, blob="after:/a")
    assert (second.path, second.before.target, second.after) == (b"/\xff", b"\xff", ABSENT)
    assert (third.before, third.after.content, top.path) == (UNKNOWN, "too_large", b"/")
    assert [tuple(rename) for rename in found.renames] == [
        (b"/d", b"/e", False, None),
        (b"/\xfe", b"/y", True, (7, 9)),
    ]


def test_a_file_that_may_be_another_was_not_what_size_and_time_say() -> None:
    kept = replace(FILE, blob="before:/a")
    doubtful = [
        record(before=FILE, change="unknown"),
        record(b"/b", before=kept, change="unknown"),
        record(b"/c", before=FILE, after=NOT_KNOWN, change="unknown"),
        record(b"/d", before=FILE, change="none"),
    ]
    found = read_records(doubtful).files
    assert [one.before.kind for one in found] == [Kind.UNKNOWN, Kind.FILE, Kind.FILE, Kind.FILE]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "a/b",
        "./a",
        "../a",
        "/a/../b",
        "/..",
        "/a/..",
        "/./a",
        "/a/.",
        "//a",
        "/a//b",
        "/a/",
        "//",
        "/a\0b",
    ],
)
def test_a_path_that_is_not_plain_and_absolute_refuses_the_bundle(path: str) -> None:
    odd = path.encode()
    with pytest.raises(BadBundleError, match="not what a recorder writes"):
        read_records([record(b"/fine"), record(odd)])
    for pair in ((odd, b"/b"), (b"/b", odd)):
        with pytest.raises(BadBundleError, match="not what a recorder writes"):
            read_records([], [ThingRenamed(*pair, exchanged=False, node=None)])


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "directory"},
        {"kind": "nonsense"},
        {"mode": None},
        {"mode": 0o644},
        {"mode": -1},
        {"size": -1},
        {"mtime_ns": 10**30},
        {"uid": -1},
        {"gid": 2**32 - 1},
        {"target": "there"},
        {"kind": "symlink", "mode": LINK.mode, "target": ""},
        {"kind": "symlink", "mode": LINK.mode, "target": "a\0b"},
    ],
    ids=repr,
)
def test_a_state_that_no_recorder_writes_refuses_the_bundle(changes: dict[str, Any]) -> None:
    with pytest.raises(BadBundleError, match="not what a recorder writes"):
        read_records([record(after=replace(FILE, **changes))])


def test_a_path_that_is_there_twice_refuses_the_bundle() -> None:
    with pytest.raises(BadBundleError, match="twice"):
        read_records([record(), record()])


def test_names_are_compared_by_their_parts() -> None:
    assert is_at_or_below(b"/a/b", b"/a")
    assert is_at_or_below(b"/a", b"/a")
    assert is_at_or_below(b"/a", b"/")
    assert not is_at_or_below(b"/ab", b"/a")
    assert (parent_of(b"/a/b"), parent_of(b"/a")) == (b"/a", b"/")
