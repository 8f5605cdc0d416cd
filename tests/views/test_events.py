"""Every event, in order: chosen, told in a line, given as data; a stranger's table is an error at worst."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steno.errors import UnreadableBundleError
from steno.evidence import layout
from steno.evidence.wire import OPS
from steno.model.events import Wanted, to_json
from steno.text.safe import columns
from steno.text.style import Paint
from steno.views import events as kernel_events
from support.frames_made import Found
from support.reading import opened, sealed
from support.resealing import reseal
from support.run_builder import LINK, RunBuilder

EVIL = b"/\x1b]0;owned\x07\xe2\x80\xae\n\xff"
TABLE = layout.KERNEL_TABLE


def opening(*paths: bytes) -> RunBuilder:
    run = RunBuilder()
    for path in paths:
        run.call("open", path, process=1)
    return run


def events(path: Path, wanted: Wanted = Wanted()) -> list[dict[str, Any]]:  # noqa: B008 - frozen
    with opened(path) as run:
        return list(run.recorded_calls(wanted))


def told(path: Path, width: int | None = None) -> list[str]:
    return [kernel_events.line(one, Paint(), width=width) for one in events(path)]


def test_every_event_is_there_in_order(tmp_path: Path) -> None:
    paths = [b"/%d" % number for number in range(1000)]
    assert [one["path"] for one in events(sealed(opening(*paths), tmp_path))] == paths


def test_the_choice_is_by_operation_process_category_and_path(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .by(1)
        .call("exec", "/bin/sh")
        .call("open", "x.py", resolved="/w/x.py")
        .by(2)
        .call("open", "/w/y.c")
        .connected("inet:1.2.3.4:443")
        .call("stat")
    )
    path = sealed(run, tmp_path)

    def found(**wanted: Any) -> list[int]:
        every = events(path)
        return [every.index(one) for one in events(path, Wanted(**wanted))]

    assert found(op="open") == [1, 2]
    assert found(process=2) == [2, 3, 4]
    assert found(category="file") == [1, 2, 4]
    assert found(category="net", process=2) == [3]
    assert found(category="net", op="open") == []
    assert found(path=b"*.py") == [1]
    assert found(path=b"/w/*") == [1, 2]
    assert found(path=b"inet:*:443") == [3]
    assert found(limit=2) == [0, 1]
    assert found(process=2, limit=1) == [2]
    assert found(limit=0) == []


def test_a_line_tells_what_matters_of_its_operation(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process(pid=4242, parent=1, code=None, at=1_500_000_000)
        .call("fork", arg2=2)
        .call("exec", "/bin/sh", extra=b"sh\0-c\0a b\0", arg=3)
        .call("interpreter", "/bin/env", extra="python3")
        .call("exit", arg=3 << 8)
        .call("exit", arg=9)
        .call("signal", arg=15, arg2=77)
        .call("open", "f", resolved="/w/f", arg=os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        .call("open", "/no", arg=os.O_RDONLY, result=-2)
        .call("symlink", "/l", extra="target")
        .call("rename", "/a", extra="/b")
        .call("chmod", "/a", arg=0o755)
        .call("io_uring", notes=["refused"])
    )
    path = sealed(run, tmp_path)
    assert [one[20:] for one in told(path)] == [
        "process     pid 4242, started by 1",
        "fork        process 2",
        "exec        /bin/sh sh -c 'a b'",
        "interpreter /bin/env python3",
        "exit        code 3",
        "exit        by SIGKILL",
        "signal      SIGTERM to pid 77",
        "open        /w/f write, create, truncate",
        "open        /no read ENOENT",
        "symlink     /l -> target",
        "rename      /a -> /b",
        "chmod       /a mode 755",
        "io_uring    [refused]",
    ]
    assert told(path)[0].startswith("    1.500000     1  process")


@pytest.mark.parametrize("op", [op.name for op in OPS.values()])
def test_every_operation_has_a_line_and_an_object_also_with_wild_numbers(tmp_path: Path, op: str) -> None:
    most = 2**64 - 1
    wild = Found(mode=LINK, target=EVIL, dev=most, size=2**63 - 1)
    run = RunBuilder().call(op).call(op, EVIL, extra=EVIL, state=wild, arg=most, arg2=most)
    path = sealed(run, tmp_path)
    assert len(told(path)) == 2
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(told(path)))
    _, found = map(to_json, events(path))
    assert found["arg"] == str(most)
    assert found["op"] == op


@pytest.mark.parametrize("width", [10, 40, 80])
def test_a_line_fits_the_terminal(tmp_path: Path, width: int) -> None:
    path = sealed(opening(b"/" + b"x" * 500), tmp_path)
    assert all(columns(one) <= max(width, 33) for one in told(path, width))


def test_as_data_an_event_has_all_its_fields(tmp_path: Path) -> None:
    seen = Found(
        dev=2**63,
        ino=7,
        size=5,
        mtime_ns=1_770_000_000_000_000_001,
        ctime_ns=1,
        uid=0,
        gid=0,
        content="kept",
    )
    run = (
        RunBuilder()
        .by(3)
        .call(
            "open",
            b"caf\xe9",
            resolved="/w/x",
            call=5,
            result=-13,
            notes=["compat", "not_resolved"],
            arg=1,
            state=seen,
            at=1_500_000_000,
        )
        .call("follow", "/l", resolved=b"", state=Found(mode=LINK, target="there"))
        .call("open", "/no", state=None)
    )
    first, second, third = map(to_json, events(sealed(run, tmp_path)))
    assert first == {
        "mono_ns": 1_500_000_000,
        "process": 3,
        "tid": 1003,
        "op": "open",
        "category": "file",
        "call": "i386:open",
        "path": "caf\\xe9",
        "path_b64": "Y2Fm6Q==",
        "resolved": "/w/x",
        "result": "EACCES",
        "notes": ["compat", "not_resolved"],
        "arg": 1,
        "arg2": 0,
        "state": {
            "exists": True,
            "dev": str(2**63),
            "ino": 7,
            "mode": 0o100644,
            "size": 5,
            "mtime_ns": "1770000000000000001",
            "ctime_ns": 1,
            "uid": 0,
            "gid": 0,
            "nlink": 1,
            "content": "kept",
        },
    }
    assert (second["state"]["target"], second.get("resolved")) == ("there", None)
    assert third["state"] == {"exists": False}
    assert (third["result"], third["call"]) == ("unknown", None)


def without_a_column(table: pa.Table) -> pa.Table:
    return table.drop_columns(["op"])


def of_another_type(table: pa.Table) -> pa.Table:
    return table.set_column(0, "mono_ns", table["mono_ns"].cast(pa.string()))


def without_a_time(table: pa.Table) -> pa.Table:
    return table.set_column(0, "mono_ns", pa.array([None], pa.int64()))


def without_an_operation(table: pa.Table) -> pa.Table:
    return of_operation(table, None)


def of_operation(table: pa.Table, op: str | None) -> pa.Table:
    at = table.column_names.index("op")
    return table.set_column(at, "op", pa.array([op], pa.string()).cast(table.schema.field(at).type))


@pytest.mark.parametrize(
    "changed",
    [
        without_a_column,
        of_another_type,
        without_a_time,
        without_an_operation,
    ],
)
def test_a_table_of_another_form_is_an_error_of_the_bundle(
    tmp_path: Path, changed: Callable[[pa.Table], pa.Table]
) -> None:
    path = opening(b"/x").seal(tmp_path)
    pq.write_table(changed(pq.read_table(path / TABLE)), path / TABLE)
    with pytest.raises(UnreadableBundleError) as raised:
        events(path)
    assert "steno verify" in raised.value.hint


def test_a_call_and_a_column_that_only_a_newer_steno_knows_are_passed_on(tmp_path: Path) -> None:
    path = opening(b"/x").seal(tmp_path)
    table = of_operation(pq.read_table(path / TABLE), "of_tomorrow")
    pq.write_table(table.append_column("of_tomorrow", pa.array([7])), path / TABLE)
    reseal(path)
    (one,) = events(path)
    assert (one["op"], one["path"]) == ("of_tomorrow", b"/x")


@pytest.mark.parametrize("content", [b"", b"PAR1" + bytes(range(200)) + b"PAR1"], ids=["empty", "garbage"])
def test_a_table_that_is_none_is_an_error_of_the_bundle(tmp_path: Path, content: bytes) -> None:
    path = opening(b"/x").seal(tmp_path)
    (path / TABLE).write_bytes(content)
    reseal(path)
    with pytest.raises(UnreadableBundleError) as raised:
        events(path)
    assert "steno verify" in raised.value.hint


def test_a_table_that_is_written_anew_is_read(tmp_path: Path) -> None:
    path = opening(b"/x").seal(tmp_path)
    pq.write_table(pq.read_table(path / TABLE), path / TABLE)
    reseal(path)
    assert len(events(path)) == 1


def test_damage_at_any_place_is_an_error_of_the_bundle_or_other_facts(tmp_path: Path) -> None:
    path = opening(*(b"/%d" % number for number in range(200))).seal(tmp_path)
    table = path / TABLE
    whole = table.read_bytes()
    dice = random.Random(7)
    for _ in range(150):
        torn = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            torn[dice.randrange(len(torn))] = dice.randrange(256)
        table.write_bytes(torn[: dice.choice([len(torn), dice.randrange(len(torn))])])
        reseal(path)
        try:
            told(path)
        except UnreadableBundleError:
            continue


def test_many_events_are_chosen_quickly(tmp_path: Path) -> None:
    run = opening(*(b"/%d" % number for number in range(2000))).connected("inet:1.2.3.4:80")
    path = run.seal(tmp_path)
    table = pq.read_table(path / TABLE)
    pq.write_table(pa.concat_tables([table] * 100), path / TABLE)
    reseal(path)
    began = time.process_time()
    assert len(events(path, Wanted(category="net"))) == 100
    assert len(events(path, Wanted(path=b"/17"))) == 100
    assert time.process_time() - began < 5
