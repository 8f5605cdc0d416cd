"""A bundle as the audit files of one attempt."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from steno.contracts.agent_audit.meta import Meta
from steno.evidence import layout
from steno.evidence.kinds import AgentStep
from steno.export import Exported
from steno.export.contracts import agent_audit
from support.making import FINISHED, RUN_ID, make_run, start
from support.reading import opened
from support.run_builder import UNKNOWN, Content, RunBuilder

TAPES = [(layout.STDOUT, 1, b"out\n"), (layout.STDERR, 2, b"err\n")]


def exported(run: Path, directory: Path) -> Exported:
    with opened(run) as found:
        return agent_audit(found, directory)


def read(done: Exported, name: str) -> Any:
    return json.loads((done.path / ".audit" / name).read_bytes())


def test_the_streams_are_there_with_the_number_one(tmp_path: Path) -> None:
    done = exported(make_run(tmp_path / "store", start("/bin/agent", "go"), *FINISHED, tapes=TAPES), tmp_path)
    assert done.path == tmp_path / RUN_ID
    assert (done.path / ".audit" / "stderr.1.log").read_bytes() == b"err\n"
    meta = msgspec.json.decode((done.path / ".audit" / "meta.1.json").read_bytes(), type=Meta)
    assert (meta.agent_name, meta.run_id, meta.steno.run_id) == ("agent", RUN_ID, RUN_ID)
    assert meta.protocol.completion is None
    assert meta.runtime.split_reconstruction.stdout_chunks == 1


COMPLETION = {
    "state": "completed",
    "reasonCode": "ALL_DONE",
    "needsUserInput": False,
    "source": "stdout",
    "diagnostics": [],
}
STEPS = [
    AgentStep(
        number=2,
        name="run_directory",
        detail="/runs/x, attempt 3",
        facts={"agentName": "claude", "attempt": 3},
    ),
    AgentStep(number=5, name="skills", detail="counting", facts={"skills": ["counting"]}),
    AgentStep(
        number=6,
        name="trust",
        detail="/h/.claude.json, written",
        facts={"trust": {"file": "/h/.claude.json", "key": ["projects"], "alreadyThere": False}},
    ),
    AgentStep(number=9, name="completion", facts={"completion": COMPLETION, "rules": {"parser": "claude"}}),
]


def test_what_was_told_of_an_agent_is_in_meta(tmp_path: Path) -> None:
    run = make_run(tmp_path / "store", start("/bin/node", "cli.js"), *STEPS, *FINISHED, tapes=TAPES)
    meta = read(exported(run, tmp_path), "meta.1.json")
    assert (meta["agentName"], meta["trustApplied"]) == ("claude", True)
    assert meta["protocol"]["completion"] == COMPLETION
    assert meta["steno"]["rules"] == {"parser": "claude"}
    assert meta["steno"]["skills"] == ["counting"]
    assert meta["steno"]["trust"]["file"] == "/h/.claude.json"
    assert [step["name"] for step in meta["steno"]["steps"]] == [
        "run_directory",
        "skills",
        "trust",
        "completion",
    ]
    assert not any("facts" in step for step in meta["steno"]["steps"])


def test_files_that_differ_from_those_of_the_attempt_say_so(tmp_path: Path) -> None:
    by_strace = AgentStep(number=8, name="streams", facts={"traceSource": "strace"})
    screen = [(layout.OUTPUT, 1, b"out\r\nerr\r\n")]
    done = exported(make_run(tmp_path / "store", start(), by_strace, *FINISHED, tapes=screen), tmp_path)
    assert read(done, "meta.1.json")["steno"]["notes"] == [done.notes[-1]]
    assert "its split is not in the recording" in done.notes[-1]
    by_us = AgentStep(number=8, name="streams", facts={"traceSource": "split"})
    same = exported(make_run(tmp_path / "other", start(), by_us, *FINISHED, tapes=TAPES), tmp_path / "same")
    assert read(same, "meta.1.json")["steno"]["notes"] == []


def test_facts_that_are_not_as_we_write_them_say_nothing(tmp_path: Path) -> None:
    forged = AgentStep(number=6, name="trust", facts={"trust": "yes", "completion": COMPLETION})
    meta = read(exported(make_run(tmp_path / "store", start(), forged, *FINISHED), tmp_path), "meta.1.json")
    assert (meta["trustApplied"], meta["protocol"]["completion"]) == (False, None)


def test_without_an_observer_nothing_is_said_of_files(tmp_path: Path) -> None:
    done = exported(make_run(tmp_path / "store"), tmp_path)
    assert not list((done.path / ".audit").glob("fs-*"))
    assert read(done, "meta.1.json")["auditFiles"]["fsDiff"] is None
    assert "fs-before" in done.notes[0]


def test_recorded_files_below_the_working_directory_are_told(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").wrote("/elsewhere/x").wrote("/work/.audit/x").deleted("/work/.audited")
    run.wrote("/work/changed", Content(b"longer", kept="too_large"), before=b"x").made_directory("/work/d")
    run.wrote("/work/new", b"new").wrote(b"/work/odd\xff", UNKNOWN, before=b"x").read("/work/read")
    done = exported(run.seal(tmp_path / "store"), tmp_path)
    assert read(done, "fs-diff.1.json") == {
        "created": ["new"],
        "modified": ["changed"],
        "deleted": [".audited"],
        "unreadable": [r"odd\xff"],
    }
    after = read(done, "fs-after.1.json")
    assert after["new"] == {
        "size": 3,
        "mtimeMs": 1_700_000_000_000,
        "sha256": hashlib.sha256(b"new").hexdigest(),
    }
    assert after["changed"]["sha256"] is None
    assert after.keys() == {"changed", "new", "read"}
    assert read(done, "fs-before.1.json").keys() == {".audited", "changed", r"odd\xff", "read"}
    assert read(done, "meta.1.json")["filesystem"]["unreadable"] == [r"odd\xff"]


def test_exporting_again_gives_the_same_bytes(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").wrote("/work/a").seal(tmp_path / "store")
    once, twice = exported(run, tmp_path / "a"), exported(run, tmp_path / "b")
    assert exported(run, tmp_path / "a").path == once.path
    names = sorted(path.name for path in (once.path / ".audit").iterdir())
    assert len(names) == 10
    for name in names:
        assert (once.path / ".audit" / name).read_bytes() == (twice.path / ".audit" / name).read_bytes()
