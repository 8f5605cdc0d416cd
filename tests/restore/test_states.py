"""`files.json` of a stranger: what no recorder writes is refused, whole."""

from __future__ import annotations

import base64
import stat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.errors import BadBundleError
from steno.restore.states import ABSENT, UNKNOWN, Kind, State, is_at_or_below, parent_of, read_records

FILE = {"exists": True, "type": "file", "mode": stat.S_IFREG | 0o4755, "mtime": 1, "mtime_ns": 1, "size": 3}
LINK = {"exists": True, "type": "symlink", "mode": stat.S_IFLNK | 0o777, "target": "there"}


def files(*records: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"schema": "steno.files.v1", "git_repositories": [], "files": list(records), **more}


def record(path: str = "/a", **more: Any) -> dict[str, Any]:
    return {"path": path, "operations": [], "before": {"exists": False}, "after": FILE, **more}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_states_are_read_as_they_were_written() -> None:
    owned = {**FILE, "uid": 1000, "gid": 100, "mtime_ns": "1700000000123456789", "blob": "after:/a"}
    tombstone = {"exists": False, "tombstone": True}
    found = read_records(
        files(
            record("/a", after=owned),
            record("/ÿ", path_b64=b64(b"/\xff"), before=LINK | {"target_b64": b64(b"\xff")}, after=tombstone),
            record("/c", before={"unknown": True}, after={**FILE, "content": "too_large"}),
            record("/"),
            directory_renames=[
                {"from": "/d", "to": "/e"},
                {"from": "/x", "from_b64": b64(b"/\xfe"), "to": "/y", "exchange": True, "dev": 7, "ino": 9},
            ],
        )
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
    kept = {**FILE, "blob": "before:/a"}
    doubtful = [
        record(before=FILE, change="unknown"),
        record("/b", before=kept, change="unknown"),
        record("/c", before=FILE, after={"unknown": True}, change="unknown"),
        record("/d", before=FILE, change="none"),
    ]
    found = read_records(files(*doubtful)).files
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
    for hostile in (
        files(record(path)),
        files(record("/fine"), record("/other", path_b64=b64(path.encode()))),
        files(directory_renames=[{"from": path, "to": "/b"}]),
        files(directory_renames=[{"from": "/b", "to": path}]),
    ):
        with pytest.raises(BadBundleError, match="not what a recorder writes"):
            read_records(hostile)


@pytest.mark.parametrize(
    "hostile",
    [
        None,
        [],
        {},
        {"schema": "steno.files.v2", "files": []},
        files({"path": "/a"}),
        files(record("/a"), record("/a")),
        files(record("/a"), record("/b", path_b64=b64(b"/a"))),
        files(record(path_b64="not base64!")),
        files(record("/\ud800")),
        files(record(after={"exists": True})),
        files(record(after={**FILE, "type": "directory"})),
        files(record(after={**FILE, "type": "nonsense"})),
        files(record(after={**FILE, "mode": 0o644})),
        files(record(after={**FILE, "mode": -1})),
        files(record(after={**FILE, "size": -1})),
        files(record(after={**FILE, "size": "3"})),
        files(record(after={**FILE, "mtime_ns": 1.5})),
        files(record(after={**FILE, "mtime_ns": str(10**30)})),
        files(record(after={**FILE, "uid": -1})),
        files(record(after={**FILE, "gid": 2**32 - 1})),
        files(record(after={**FILE, "target": "there"})),
        files(record(after={**LINK, "target": ""})),
        files(record(after={**LINK, "target": "a\0b"})),
        files(record(after={**LINK, "target_b64": "*"})),
        files(record(after={**FILE, "blob": 3})),
        files(record(operations="write")),
        files(directory_renames=[{"from": "/a"}]),
    ],
    ids=repr,
)
def test_what_no_recorder_writes_refuses_the_bundle(hostile: Any) -> None:
    with pytest.raises(BadBundleError, match="not what a recorder writes"):
        read_records(hostile)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FILE, *record()]), inner)
        ),
        max_leaves=12,
    )
)
def test_any_data_is_read_or_refused(value: Any) -> None:
    for hostile in (value, files(value), files(record(after=value)), files(directory_renames=value)):
        try:
            read_records(hostile)
        except BadBundleError:
            continue


def test_names_are_compared_by_their_parts() -> None:
    assert is_at_or_below(b"/a/b", b"/a")
    assert is_at_or_below(b"/a", b"/a")
    assert is_at_or_below(b"/a", b"/")
    assert not is_at_or_below(b"/ab", b"/a")
    assert (parent_of(b"/a/b"), parent_of(b"/a")) == (b"/a", b"/")
