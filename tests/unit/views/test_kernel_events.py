"""Every event, in order: chosen, told in a line, given as data; a stranger's table is an error at worst."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernel_bundles import EVENTS, kernel_run, row
from steno.bundle.folder import Folder
from steno.errors import UnreadableBundleError
from steno.events.wire import OPS
from steno.views import kernel_events
from steno.views.kernel_events import Wanted
from steno.views.kernel_layer import KernelLayer
from steno.views.paint import Paint
from steno.views.plain import columns
from steno.views.record import open_record

EVIL = b"/\x1b]0;owned\x07\xe2\x80\xae\n\xff"


def events(path: Path, wanted: Wanted = Wanted()) -> list[dict[str, Any]]:  # noqa: B008 - frozen
    with Folder(path) as folder, open_record(folder) as record:
        return list(kernel_events.events(KernelLayer(record), wanted))


def told(path: Path, width: int | None = None) -> list[str]:
    return [kernel_events.line(one, Paint(), width=width) for one in events(path)]


def test_every_event_is_there_in_order(tmp_path: Path) -> None:
    path = kernel_run(tmp_path, rows=[row(number, "open", b"/%d" % number) for number in range(1000)])
    assert [one["path"] for one in events(path)] == [b"/%d" % number for number in range(1000)]


def test_the_choice_is_by_operation_process_category_and_path(tmp_path: Path) -> None:
    path = kernel_run(
        tmp_path,
        rows=[
            row(1, "exec", b"/bin/sh"),
            row(1, "open", b"x.py", resolved=b"/w/x.py"),
            row(2, "open", b"/w/y.c"),
            row(2, "connect", b"inet:1.2.3.4:443"),
            row(2, "stat", None),
        ],
    )

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
    rows = {
        "process": row(2, "process", arg=4242 | 1 << 32),
        "fork": row(1, "fork", arg2=2),
        "exec": row(1, "exec", b"/bin/sh", extra=b"sh\0-c\0a b\0", arg=3),
        "interpreter": row(1, "interpreter", b"/bin/env", extra=b"python3"),
        "code": row(1, "exit", arg=3 << 8),
        "signal": row(1, "exit", arg=9),
        "kill": row(1, "signal", arg=15, arg2=77),
        "open": row(1, "open", b"f", resolved=b"/w/f", arg=os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        "absent": row(1, "open", b"/no", arg=os.O_RDONLY, result=-2),
        "link": row(1, "symlink", b"/l", extra=b"target"),
        "rename": row(1, "rename", b"/a", extra=b"/b"),
        "chmod": row(1, "chmod", b"/a", arg=0o755),
        "refused": row(1, "io_uring", notes=128),
    }
    path = kernel_run(tmp_path, rows=rows.values())
    found = dict(zip(rows, (one[20:] for one in told(path)), strict=True))
    assert found == {
        "process": "process     pid 4242, started by 1",
        "fork": "fork        process 2",
        "exec": "exec        /bin/sh sh -c 'a b'",
        "interpreter": "interpreter /bin/env python3",
        "code": "exit        code 3",
        "signal": "exit        by SIGKILL",
        "kill": "signal      SIGTERM to pid 77",
        "open": "open        /w/f write, create, truncate",
        "absent": "open        /no read ENOENT",
        "link": "symlink     /l -> target",
        "rename": "rename      /a -> /b",
        "chmod": "chmod       /a mode 755",
        "refused": "io_uring    [refused]",
    }
    assert told(path)[0].startswith("    1.500000     2  process")


@pytest.mark.parametrize("op", [op.name for op in OPS.values()])
def test_every_operation_has_a_line_and_an_object_also_with_wild_numbers(tmp_path: Path, op: str) -> None:
    most = 2**64 - 1
    path = kernel_run(
        tmp_path,
        rows=[
            row(1, op),
            row(1, op, EVIL, resolved=EVIL, extra=EVIL, target=EVIL, exists=True, arg=most, arg2=most),
        ],
    )
    assert len(told(path)) == 2
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(told(path)))
    _, wild = map(kernel_events.to_json, events(path))
    assert wild["arg"] == str(most)
    assert wild["op"] == op


@pytest.mark.parametrize("width", [10, 40, 80])
def test_a_line_fits_the_terminal(tmp_path: Path, width: int) -> None:
    path = kernel_run(tmp_path, rows=[row(1, "open", b"/" + b"x" * 500)])
    assert all(columns(one) <= max(width, 33) for one in told(path, width))


def test_as_data_an_event_has_all_its_fields(tmp_path: Path) -> None:
    path = kernel_run(
        tmp_path,
        rows=[
            row(
                3,
                "open",
                b"caf\xe9",
                resolved=b"/w/x",
                call="i386:open",
                result=-13,
                notes=4 | 8,
                arg=1,
                exists=True,
                dev=2**63,
                ino=7,
                mode=0o100644,
                size=5,
                mtime_ns=1_770_000_000_000_000_001,
                ctime_ns=1,
                uid=0,
                gid=0,
                nlink=1,
                content="kept",
            ),
            row(3, "follow", b"/l", exists=True, target=b"there"),
            row(3, "open", b"/no", exists=False),
        ],
    )
    first, second, third = map(kernel_events.to_json, events(path))
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
    assert second["state"] == {"exists": True, "target": "there"}
    assert third["state"] == {"exists": False}
    assert (third["result"], third["call"]) == ("unknown", None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"",
        lambda: b"PAR1" + bytes(range(200)) + b"PAR1",
        lambda: table_of(EVENTS.remove(3)),
        lambda: table_of(EVENTS.set(0, pa.field("mono_ns", pa.string()))),
        lambda: table_of(EVENTS, mono_ns=None),
        lambda: table_of(EVENTS, op="no such operation"),
        lambda: table_of(EVENTS, op=None),
    ],
    ids=["empty", "garbage", "column missing", "wrong type", "no time", "unknown word", "no operation"],
)
def test_a_table_that_is_not_ours_is_an_error_of_the_bundle(tmp_path: Path, make: Any) -> None:
    path = kernel_run(tmp_path)
    (path / "layers" / "kernel.parquet").write_bytes(make())
    with pytest.raises(UnreadableBundleError) as raised:
        events(path)
    assert "steno verify" in raised.value.hint


def table_of(schema: pa.Schema, **changed: Any) -> bytes:
    one = dict.fromkeys(EVENTS.names) | row(1, "open", b"/x") | changed
    if schema.field(0).type == pa.string():
        one["mono_ns"] = "1"
    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([one], schema=schema), out)
    return bytes(out.getvalue())


def test_damage_at_any_place_is_an_error_of_the_bundle_or_other_facts(tmp_path: Path) -> None:
    path = kernel_run(tmp_path, rows=[row(number, "open", b"/%d" % number) for number in range(200)])
    table = path / "layers" / "kernel.parquet"
    whole = table.read_bytes()
    dice = random.Random(7)
    for _ in range(150):
        torn = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            torn[dice.randrange(len(torn))] = dice.randrange(256)
        table.write_bytes(torn[: dice.choice([len(torn), dice.randrange(len(torn))])])
        try:
            told(path)
        except UnreadableBundleError:
            continue


def test_many_events_are_chosen_quickly(tmp_path: Path) -> None:
    rows = [row(number % 50, "open", b"/%d" % number) for number in range(2000)]
    path = kernel_run(tmp_path, rows=[*rows, row(7, "connect", b"inet:1.2.3.4:80")])
    table = pq.read_table(path / "layers" / "kernel.parquet")
    pq.write_table(pa.concat_tables([table] * 100), path / "layers" / "kernel.parquet")
    began = time.process_time()
    assert len(events(path, Wanted(category="net"))) == 100
    assert len(events(path, Wanted(path=b"/17"))) == 100
    assert time.process_time() - began < 5
