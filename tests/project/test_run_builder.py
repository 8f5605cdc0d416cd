"""What the builder makes of evidence is a bundle that verifies, and answers as a recorded one does."""

from __future__ import annotations

from pathlib import Path

from steno.bundle.verify import Status
from steno.evidence import layout
from support.calls_made import decision, said_call
from support.recorded import Recorded
from support.run_builder import Content, RunBuilder


def test_what_was_observed_becomes_processes_and_files(tmp_path: Path) -> None:
    builder = (
        RunBuilder("make")
        .process("make", "all", code=2, until=3_000_000_000)
        .process("cc", "a.c", parent=1)
        .read("/w/a.c", b"int x;\n")
        .wrote("/w/a.o", b"object")
        .wrote("/w/log", b"two lines\n", before=b"one\n")
        .deleted("/w/old")
        .renamed("/w/b", "/w/c")
        .made_directory("/w/d")
        .changed_mode("/w/a.sh", 0o755)
        .wrote("/w/big", Content(b"x" * 9, kept="too_large"))
        .connected("inet:1.2.3.4:80", result=-111)
        .printed("done\n")
        .ended(2)
    )
    run = Recorded(builder.seal(tmp_path))
    assert run.verdict().status is Status.VALID
    first, second = run.json("processes.json")["processes"]
    assert (first["exit"], first["execs"][0]["argv"], second["parent"]) == ({"code": 2}, ["make", "all"], 1)
    files = {one["path"]: one for one in run.json("files.json")["files"]}
    assert {path: one["change"] for path, one in files.items()} == {
        "/w/a.c": "none",
        "/w/a.o": "created",
        "/w/a.sh": "metadata",
        "/w/b": "deleted",
        "/w/big": "created",
        "/w/c": "created",
        "/w/d": "created",
        "/w/log": "modified",
        "/w/old": "deleted",
    }
    assert files["/w/big"]["after"]["content"] == "too_large"
    assert files["/w/log"]["before"]["blob"] == "before:/w/log"
    assert run.json("run.json")["exit_code"] == 2


def test_what_was_said_and_decided_becomes_calls(tmp_path: Path) -> None:
    builder = RunBuilder("agent").process("agent").decided(decision("a", "act")).said(*said_call("b", "Bash"))
    run = Recorded(builder.seal(tmp_path))
    assert run.is_valid
    assert [call["tool_call_id"] for call in run.json("calls.json")["calls"]] == ["a", "b"]


def test_a_gap_makes_it_incomplete_and_without_calls_there_is_no_kernel_layer(tmp_path: Path) -> None:
    run = Recorded(RunBuilder(observer="none").gap("terminal_held", "stdout").seal(tmp_path))
    assert run.verdict().status is Status.INCOMPLETE
    assert not (run.path / layout.KERNEL_TABLE).exists()
    assert run.verdict().gaps == ["terminal_held"]
