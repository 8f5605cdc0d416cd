"""The kernel table: every call a row, every string masked, whole columns as exact as single records."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from steno.bundle import frames as frames_room
from steno.bundle import kernel_table
from steno.evidence import layout, wire
from steno.evidence.syscalls import ADDED, COLUMNS
from support.frames_made import ABSENT, FakeFrames, Found
from support.kernel_tables import table_of, write_table
from support.sought import strings_of

TOKEN = "ghp_" + "EXAMPLEexample0123456789NOTREALabcdef"
LITERAL = b"value-of-this-run"


def rows_of(made: FakeFrames, literals: tuple[bytes, ...] = ()) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(table_of(made, literals))).to_pylist()
    return rows


def known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def test_a_row_has_what_the_call_and_its_state_say() -> None:
    found = Found(
        mode=0o120777, size=2, dev=3, ino=1 << 63, uid=4_294_967_294, target="/t", content="too_large"
    )
    made = FakeFrames().process(77, parent=5, start_ticks=9)
    made.event("follow", "l", resolved="/l", state=found, result=-13, call=257, arg=1 << 63, tid=4, at=10)
    made.event("open", "/none", state=ABSENT, call=5, notes=["compat", "path_cut"])
    made.event("fork", call=999)
    process, follow, opened, fork = rows_of(made)
    assert known(process) == {
        "mono_ns": 1000,
        "process": 1,
        "tid": 1001,
        "op": "process",
        "result": 0,
        "notes": 0,
        "arg": 77 | 5 << 32,
        "arg2": 9,
    }
    assert follow == {
        "mono_ns": 10,
        "process": 1,
        "tid": 4,
        "op": "follow",
        "call": "openat",
        "path": b"l",
        "resolved": b"/l",
        "extra": None,
        "result": -13,
        "notes": 0,
        "arg": 1 << 63,
        "arg2": 0,
        "exists": True,
        "dev": 3,
        "ino": 1 << 63,
        "mode": 0o120777,
        "size": 2,
        "target": b"/t",
        "mtime_ns": found.mtime_ns,
        "ctime_ns": found.ctime_ns,
        "uid": 4_294_967_294,
        "gid": 1000,
        "nlink": 1,
        "content": "too_large",
        "file": None,
        "blob": None,
    }
    assert (opened["exists"], opened["call"], opened["notes"], opened["mode"]) == (
        False,
        "i386:open",
        6,
        None,
    )
    assert (fork["call"], fork["exists"], fork["result"]) == ("x86_64:999", None, None)


def test_the_columns_are_those_of_the_format_and_row_groups_are_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames_room, "BATCH", 4)
    made = FakeFrames().process()
    for number in range(9):
        made.event("stat", f"/{number % 3}", state=Found(ino=number), at=number)
    table = pq.ParquetFile(io.BytesIO(table_of(made)))
    assert {field.name: str(field.type) for field in table.schema_arrow} == COLUMNS | ADDED
    assert [table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)] == [4, 4, 2]
    column = table.metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"
    assert "DELTA_BINARY_PACKED" in column.encodings
    assert not column.is_stats_set
    rows = table.read().to_pylist()
    assert [row["resolved"] for row in rows[1:]] == [b"/%d" % (number % 3) for number in range(9)]
    assert [row["ino"] for row in rows[1:]] == list(range(9))


def test_states_that_are_named_again_and_out_of_order_stay_with_their_rows() -> None:
    made = FakeFrames().process()
    for number in range(6):
        made.event("stat", "/x", state=Found(size=number))
    order = [5, 0, 3, 0, 5, 1]
    made.events[1:] = [
        event._replace(state=wire.STATE_FIRST + state)
        for event, state in zip(made.events[1:], order, strict=True)
    ]
    assert [row["size"] for row in rows_of(made)] == [None, *order]


def test_row_groups_with_long_strings_have_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_table, "LARGEST_GROUP", 40_000)
    made = FakeFrames().process()
    for number in range(16):
        made.event("stat", f"/{number:04}" * 800, state=ABSENT, result=-number)
    table = pq.ParquetFile(io.BytesIO(table_of(made)))
    assert table.num_row_groups > 3
    assert [row["result"] for row in table.read().to_pylist()] == [0, *(-number for number in range(16))]


def test_secrets_in_paths_targets_addresses_and_arguments_are_masked() -> None:
    made = FakeFrames().process()
    made.event("open", f"/home/{TOKEN}/x", state=Found(target=f"/t/{TOKEN}"))
    made.event("connect", b"unix:/run/" + LITERAL, resolved=b"")
    made.exec("/usr/bin/curl", ["curl", "--password", "open sesame", "-H", f"X: {TOKEN}", b"\xff"])
    data = table_of(made, (LITERAL,))
    rows = rows_of(made, (LITERAL,))
    assert rows[1]["path"] == rows[1]["resolved"] == b"/home/ghp_" + b"*" * 37 + b"/x"
    assert TOKEN[4:].encode() not in rows[1]["target"]
    assert rows[2]["path"] == b"unix:/run/" + b"*" * len(LITERAL)
    words = rows[3]["extra"].split(b"\0")
    assert words[:3] == [b"curl", b"--password", b"[REDACTED:argument:11]"]
    assert TOKEN[4:].encode() not in words[4]
    assert words[5:] == [b"\xff", b""]
    assert LITERAL not in strings_of(data)


def test_a_secret_that_only_the_readable_text_of_a_path_shows_is_masked_whole() -> None:
    made = FakeFrames().process().event("stat", b"/\xe9-" + LITERAL, state=ABSENT)
    (_, row) = rows_of(made, ("\xe9-".encode() + LITERAL,))
    assert row["path"] == b"*" * (3 + len(LITERAL))


def test_an_ordinary_path_stays_as_it_is_whatever_stands_beside_it() -> None:
    names = [b"/a b", b"/new\nline", b"/\xff\xfe", b"/\x1b[31mred", "/caf\u00e9".encode(), b"/x" * 2000]
    made = FakeFrames().process()
    for name in (*names, f"/{TOKEN}".encode()):
        made.event("stat", name, state=ABSENT)
    assert [row["path"] for row in rows_of(made)[1:-1]] == names


def test_the_event_tells_what_the_header_and_the_table_say(tmp_path: Path) -> None:
    made = FakeFrames().process().process(parent=1).count(250, 3).count(1024 + 5, 1)
    made.header(closed=0, lost_events=1, outlived=2, features=wire.FEATURES["split"] | 1, split_stdout=7)
    event = write_table(made, tmp_path)
    assert (event.events, event.processes, event.closed, event.lost_events, event.outlived) == (
        2,
        2,
        False,
        1,
        2,
    )
    assert event.features == ["no_new_privs", "split"]
    assert event.counted == {"keyctl": 3, "i386:open": 1}
    assert event.split is not None
    assert event.split.stdout == 7
    assert write_table(FakeFrames(), tmp_path / "empty").split is None


def test_a_table_that_a_killed_recorder_began_is_replaced(tmp_path: Path) -> None:
    (tmp_path / layout.EVIDENCE).mkdir()
    (tmp_path / f"{layout.KERNEL_TABLE}.sealing").write_bytes(b"half")
    write_table(FakeFrames().process(), tmp_path)
    assert [path.name for path in (tmp_path / layout.EVIDENCE).iterdir()] == ["syscalls.parquet"]


def test_the_bytes_are_the_same_however_equal_calls_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = FakeFrames().process().exec("/bin/sh", ["sh", TOKEN], result=0)
    for number in range(50):
        found = Found(ino=number % 5, target="/t" if number % 2 else "", mode=0o120777)
        made.event("stat", f"/{number % 7}", state=found, call=4, process=1 + number % 2, result=0)
        made.event("open", f"/{number % 3}", state=ABSENT if number % 4 else None, notes=["compat"], call=5)
    few = table_of(made)
    monkeypatch.setattr(frames_room, "LARGE", 1)
    assert table_of(made) == few


def test_calls_have_the_names_of_the_machine_that_recorded_them() -> None:
    recorded_there = kernel_table.machine_of(wire.FEATURES["aarch64"])
    assert kernel_table.call_name(56, recorded_there) == "openat"
    assert kernel_table.call_name(56, kernel_table.machine_of(0)) == "clone"
