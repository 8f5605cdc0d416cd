"""`processes.json`: who ran what, and how it ended, as far as it was seen."""

from __future__ import annotations

from typing import Any

from steno.evidence import canonical
from support.documents import processes
from support.frames_made import FakeFrames
from support.kernel_tables import kernel_layers
from support.spools import RUN_ID


def told(made: FakeFrames) -> list[dict[str, Any]]:
    value = canonical.decode(b"".join(processes(kernel_layers(made))))
    assert (value["schema"], value["run_id"]) == ("steno.processes.v1", RUN_ID)
    found: list[dict[str, Any]] = value["processes"]
    return found


def test_a_table_without_rows_has_no_process() -> None:
    assert told(FakeFrames()) == []


def test_a_process_tells_its_parent_its_program_and_its_end() -> None:
    made = FakeFrames().process(50).process(51, parent=1, start_ticks=12)
    made.exec("sh", ["sh", "-c", "x"], resolved="/bin/sh", process=2, result=0)
    made.event("stat", "/a", process=2, tid=9).exit(2, status=3 << 8)
    second = told(made)[1]
    assert second == {
        "process": 2,
        "parent": 1,
        "pid": 51,
        "start_ticks": 12,
        "first_ns": 2000,
        "ended_ns": 5000,
        "execs": [
            {
                "at_ns": 3000,
                "requested": "sh",
                "path": "/bin/sh",
                "argv": ["sh", "-c", "x"],
                "argc": 3,
                "argv_cut": False,
                "interpreter": None,
                "result": "ok",
                "privilege_lost": False,
            }
        ],
        "exit": {"code": 3},
        "exit_known": "kernel",
        "outlived": False,
        "role": "tool",
        "threads": 2,
        "events": 4,
    }


def test_a_script_has_its_interpreter() -> None:
    made = FakeFrames().process().exec("/s", ["/s"]).event("interpreter", "/bin/sh", extra="-e")
    made.exec("/t", ["/t"], notes=["argv_cut", "privilege_lost"], result=-13).event("interpreter", "/bin/env")
    first, second = told(made)[0]["execs"]
    assert first["interpreter"] == {"path": "/bin/sh", "argument": "-e"}
    assert second["interpreter"] == {"path": "/bin/env", "argument": None}
    assert (second["argv_cut"], second["privilege_lost"], second["result"]) == (True, True, "EACCES")


def test_every_way_to_end_is_told() -> None:
    made = FakeFrames()
    for _ in range(5):
        made.process()
    made.exit(1, status=15).exit(2, status=11 | 0x80, told=False).exit(3, status=0x7E)
    made.event("outlived", process=4)
    found = told(made)
    assert [each["exit"] for each in found[:3]] == [
        {"signal": "SIGTERM", "core": False},
        {"signal": "SIGSEGV", "core": True},
        {"signal": "SIG126", "core": False},
    ]
    assert [each["exit_known"] for each in found] == ["kernel", "asked", "kernel", "unknown", "unknown"]
    assert [each["outlived"] for each in found] == [False, False, False, True, False]
    assert found[4]["exit"] is found[4]["ended_ns"] is None


def test_text_that_is_not_utf8_is_readable_and_exact() -> None:
    made = FakeFrames().process().exec(b"/\xff", [b"\xff", b"", b"ok"])
    (execution,) = told(made)[0]["execs"]
    assert (execution["path"], execution["path_b64"]) == ("/\\xff", "L/8=")
    assert (execution["argv"], execution["argv_b64"]) == (["\\xff", "", "ok"], ["/w==", "", ""])


def test_a_process_that_never_appeared_is_told_by_its_calls() -> None:
    (found,) = told(FakeFrames().event("stat", "/a", process=7))
    assert (found["process"], found["pid"], found["parent"], found["events"]) == (7, None, 0, 1)


def test_rows_of_process_0_belong_to_no_process() -> None:
    made = FakeFrames().process(50).event("lost", process=0, arg=3).exec("/x", ["x"], process=0)
    assert [each["process"] for each in told(made)] == [1]
