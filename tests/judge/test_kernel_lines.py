"""`syscalls.ndjson`: each kind of call once, counted, in order."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steno.evidence import canonical, syscalls
from support.documents import accesses
from support.frames_made import ABSENT, FakeFrames, Found
from support.kernel_tables import kernel_layers
from support.spools import FINISH, START, MemoryLayers, numbered


def lines_of(made: FakeFrames) -> list[dict[str, Any]]:
    raw = b"".join(accesses(kernel_layers(made))).splitlines(keepends=True)
    return [canonical.decode_line(line) for line in raw]  # refuses what is not canonical


def test_without_an_observer_there_is_no_line() -> None:
    assert list(accesses(MemoryLayers(numbered([START, FINISH])))) == []


def test_equal_calls_are_one_line_with_a_count_and_two_times() -> None:
    made = FakeFrames()
    for at in (30, 10, 20):
        made.event("stat", "a", resolved="/a", state=Found(), at=at)
    assert lines_of(made) == [
        {
            "process": 1,
            "op": "stat",
            "category": "file",
            "path": "/a",
            "result": "unknown",
            "count": 3,
            "first_ns": 10,
            "last_ns": 30,
        }
    ]


def test_process_operation_path_access_and_result_each_make_a_line() -> None:
    made = FakeFrames().event("open", "/a", arg=os.O_RDONLY, result=0)
    made.event("open", "/a", arg=os.O_RDONLY | os.O_CLOEXEC, result=0)
    made.event("open", "/a", arg=os.O_RDWR | os.O_CREAT, result=0)
    made.event("open", "/a", arg=os.O_WRONLY | os.O_TRUNC, result=0)
    made.event("open", "/a", arg=os.O_RDONLY, state=ABSENT, result=-2)
    made.event("open", "/a", arg=os.O_RDONLY, process=2, result=0).event("stat", "/a", result=0)
    shown = [
        {
            name: line[name]
            for name in ("process", "op", "access", "create", "truncate", "result")
            if name in line
        }
        for line in lines_of(made)
    ]
    assert shown == [
        {"process": 1, "op": "open", "access": "read", "result": "ok"},
        {"process": 1, "op": "open", "access": "read_write", "create": True, "result": "ok"},
        {"process": 1, "op": "open", "access": "write", "truncate": True, "result": "ok"},
        {"process": 1, "op": "open", "access": "read", "result": "ENOENT"},
        {"process": 2, "op": "open", "access": "read", "result": "ok"},
        {"process": 1, "op": "stat", "result": "ok"},
    ]


def test_paths_sockets_and_addresses_have_their_names() -> None:
    made = FakeFrames().event("socket", arg=2, arg2=1).event("connect", "inet:1.2.3.4:80", resolved="")
    made.event("stat", b"/\xff").event("fork", at=1 << 60)
    socket, connect, stat, fork = lines_of(made)
    assert (socket["path"], socket["category"], connect["path"]) == ("2:1", "net", "inet:1.2.3.4:80")
    assert (stat["path"], stat["path_b64"]) == ("/\xff", "L/8=")
    assert "path" not in fork
    assert fork["first_ns"] == str(1 << 60)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["stat", "unlink"]), st.sampled_from("abc"), st.integers(1, 2), st.integers(0, 9)
        ),
        max_size=25,
    ),
    st.integers(1, 8),
)
@settings(max_examples=40)
def test_the_counts_are_those_of_a_plain_loop(calls: list[tuple[str, str, int, int]], batch: int) -> None:
    made = FakeFrames()
    for op, name, process, at in calls:
        made.event(op, f"/{name}", process=process, at=at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syscalls, "BATCH", batch)
        lines = lines_of(made)
    expected = Counter((process, op, f"/{name}") for op, name, process, _ in calls)
    assert {(line["process"], line["op"], line["path"]): line["count"] for line in lines} == expected
    for line in lines:
        times = [
            at
            for op, name, process, at in calls
            if (process, op, f"/{name}") == (line["process"], line["op"], line["path"])
        ]
        assert (line["first_ns"], line["last_ns"]) == (min(times), max(times))
    order = [(line["first_ns"], line["process"], line["op"], line["path"]) for line in lines]
    assert order == sorted(order)
