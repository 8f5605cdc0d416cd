"""A run as a Chrome trace: every process, call and change has its place, nothing is dropped in silence."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from steno.errors import UnreadableBundleError
from steno.evidence import layout
from steno.evidence.syscalls import batches
from steno.export import Exported
from steno.export.perfetto import MOST_STEPS, RUN, ChromeTrace, export
from support.calls_made import decision, said
from support.exported_calls import run_with_calls
from support.reading import opened
from support.run_builder import RUN_ID, RunBuilder

WRITE = os.O_WRONLY | os.O_CREAT
OPENAT = 257
SECOND = 1_000_000_000
Event = dict[str, Any]


def exported(run: Path, directory: Path) -> Exported:
    with opened(run) as folder:
        return export(folder, directory)


def events_of(run: Path, directory: Path) -> list[Event]:
    document = json.loads(exported(run, directory).path.read_bytes())
    assert document["displayTimeUnit"] == "ms"
    found: list[Event] = document["traceEvents"]
    return found


def of(events: list[Event], phase: str, **wanted: Any) -> list[Event]:
    return [one for one in events if one["ph"] == phase and wanted.items() <= one.items()]


def thread_names(events: list[Event], pid: int) -> dict[int, str]:
    named = [one for one in of(events, "M", pid=pid) if one["name"] == "thread_name"]
    return {one["tid"]: one["args"]["name"] for one in named}


def test_the_file_is_named_by_the_run_and_two_exports_are_equal(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").seal(tmp_path / "store")
    once, twice = exported(run, tmp_path / "a"), exported(run, tmp_path / "b")
    assert once.path == tmp_path / "a" / f"steno-{RUN_ID}.perfetto.json"
    assert once.path.read_bytes() == twice.path.read_bytes()
    assert exported(run, tmp_path / "a").path == once.path


def test_the_run_is_a_slice_with_its_events_as_marks(tmp_path: Path) -> None:
    run = RunBuilder("make", "a b").gap("stream_lost", "disk full")
    events = events_of(run.seal(tmp_path / "store"), tmp_path)
    (whole,) = of(events, "X", cat="run")
    assert (whole["name"], whole["pid"]) == ("make 'a b'", RUN)
    assert (whole["args"]["exit_code"], whole["args"]["gaps"]) == (0, ["stream_lost"])
    marks = of(events, "i", cat="run")
    words = ["run_start", "command_started", "command_finished", "gap", "run_finish"]
    assert [one["name"] for one in marks] == words
    assert marks[3]["args"]["detail"] == "disk full"


def test_without_a_kernel_layer_there_is_a_trace_that_says_so(tmp_path: Path) -> None:
    run = RunBuilder().seal(tmp_path / "store")
    assert exported(run, tmp_path).notes == (
        "the run has no kernel layer: no process and no file is in the trace",
    )
    assert {one["pid"] for one in events_of(run, tmp_path)} == {RUN}


def test_a_process_is_one_program_after_the_other(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").process(parent=1, at=SECOND, code=3, until=2 * SECOND)
    run.executed("/bin/no", result=-errno.ENOENT, at=SECOND + 5)
    run.executed("/bin/one", at=SECOND + 10).executed("/bin/two", "x", at=SECOND + 30)
    events = events_of(run.seal(tmp_path / "store"), tmp_path)
    slices = of(events, "X", pid=2)
    assert [one["name"] for one in slices] == ["(sh, forked)", "one", "two"]
    assert [one["ts"] for one in slices] == [1_000_000.0, 1_000_000.010, 1_000_000.030]
    assert slices[2]["ts"] + slices[2]["dur"] == pytest.approx(2_000_000)
    assert slices[2]["args"]["ended"] == "exit code 3"
    assert slices[2]["args"]["argv"] == ["/bin/two", "x"]
    (failed,) = of(events, "i", pid=2)
    assert failed["name"] == "could not run no: ENOENT"
    names = {one["name"]: one["args"] for one in of(events, "M", pid=2)}
    assert names["process_name"] == {"name": "two"}
    assert names["process_labels"] == {"labels": "pid 1002"}


def test_a_process_whose_end_was_not_seen_lasts_as_long_as_the_run(tmp_path: Path) -> None:
    run = RunBuilder().process(code=None, at=0).executed("daemon", at=0).outlived()
    events = events_of(run.seal(tmp_path / "store"), tmp_path)
    (whole,), (one,) = of(events, "X", pid=RUN), of(events, "X", pid=1)
    assert one["dur"] == whole["dur"]
    assert one["args"]["ended"] == "alive when the command had ended"


def test_changes_and_connections_are_marks_on_their_thread_and_the_rest_is_counted(tmp_path: Path) -> None:
    made = RunBuilder().process("sh").read("/etc/passwd").looked("/x")
    made.call("open", "out", resolved="/work/out", arg=WRITE, tid=77, result=0, call=OPENAT)
    made.deleted("/work/old", None, result=-errno.ENOENT)
    run = made.connected("inet:1.2.3.4:80", at=3 * SECOND).seal(tmp_path / "store")
    events = events_of(run, tmp_path)
    marks = of(events, "i", pid=1)
    assert [one["name"] for one in marks] == [
        "open to write out",
        "unlink old: ENOENT",
        "connect inet:1.2.3.4:80",
    ]
    assert marks[0]["args"] == {
        "arg": WRITE, "call": "openat", "path": "/work/out", "requested": "out", "result": "ok",
    }  # fmt: skip
    assert [one["cat"] for one in marks] == ["file", "file", "net"]
    assert thread_names(events, 1) == {1: "programs", 77: "thread 77", 1001: "thread 1001"}
    assert sum(sum(one["args"].values()) for one in of(events, "C")) == 8
    assert exported(run, tmp_path).notes == (
        "5 of 8 kernel events changed and reached nothing: counted, not shown",
    )


def test_counters_fall_back_to_zero_and_stay_few(tmp_path: Path) -> None:
    run = RunBuilder().process("sh")
    for at in range(1, 2000):
        run.call("stat", "/x", at=at * SECOND)
    events = events_of(run.seal(tmp_path / "store"), tmp_path)
    counters = of(events, "C")
    assert len(counters) <= MOST_STEPS + 2
    assert counters[-1]["args"] == {"file": 0, "process": 0}


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    names = [
        b"/\xff\xfe",
        b"/</script><b>",
        b"/\x1b]0;x\x07\n",
        "/\u202egpj".encode(),
        b"/" + b"n" * 1_000_000,
    ]
    run = RunBuilder("\x1b[2J").process("\x1b[2J\u202e")
    for name in names:
        run.call("unlink", name)
    data = exported(run.seal(tmp_path / "store"), tmp_path).path.read_bytes()
    assert data.isascii()
    assert not set(data) & (set(range(32)) - {10})
    assert len(data) < 40_000
    marks = of(json.loads(data)["traceEvents"], "i", pid=1)
    assert marks[0]["args"]["path"] == "/\\xff\\xfe"
    assert marks[3]["name"] == "unlink \\u202egpj"


def test_calls_that_overlap_get_lanes_of_their_own(tmp_path: Path) -> None:
    made = [decision(str(n), at=(n * 10, n * 10 + 15)) for n in range(6)]
    events = events_of(run_with_calls(made).seal(tmp_path / "store"), tmp_path)
    slices = sorted(of(events, "X", cat="call"), key=lambda one: (one["tid"], one["ts"]))
    assert len(slices) == 6
    assert {one["tid"] for one in slices} == {10, 11}
    for one, other in pairwise(slices):
        assert one["tid"] != other["tid"] or one["ts"] + one["dur"] <= other["ts"] + 1e-9
    assert thread_names(events, RUN)[11] == "tool calls 2"


def test_a_call_tells_its_verdict_and_decisions_and_claims_are_marks(tmp_path: Path) -> None:
    policy = [decision("a", "act", at=(10, 20), decision="deny")]
    sdk = [said("tool_call_started", "b", "look", at_ns=30), said("run_finished", None, None)]
    events = events_of(run_with_calls(policy, sdk).seal(tmp_path / "store"), tmp_path)
    (call,) = of(events, "X", cat="call")
    assert (call["name"], call["args"]["verdict"], call["args"]["decision"]) == ("fs.act", "denied", "deny")
    (mark,) = of(events, "i", cat="policy")
    assert (mark["name"], mark["ts"]) == ("deny fs.act", 0.01)
    (claim,) = of(events, "i", cat="claim")
    assert (claim["name"], claim["ts"]) == ("tool_call_started look", 0.03)
    assert thread_names(events, RUN)[claim["tid"]] == "said by the agent (claims)"


def test_lines_come_while_the_table_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunBuilder().process().deleted("/first").seal(tmp_path / "store")

    def endless(*words: Any) -> Iterator[Any]:
        while True:
            yield from batches(*words)

    monkeypatch.setattr("steno.model.run.batches", endless)
    with opened(run) as record:
        lines = ChromeTrace(record).blocks()
        assert sum(b"unlink first" in next(lines) for _ in range(60)) > 40


def test_a_table_that_is_none_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").seal(tmp_path / "store")
    (run / layout.KERNEL_TABLE).write_bytes(b"PAR1 no table")
    with pytest.raises(UnreadableBundleError, match=r"syscalls\.parquet"):
        exported(run, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
