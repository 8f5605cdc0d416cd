"""What undo and restore say of themselves, in words and as data."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from steno.restore.outcome import Outcome, not_kept_lines, plan_lines, summary_line, to_json
from steno.restore.plan import Problem
from steno.restore.tasks import Direction
from support.snapshots import Recording, recording, snapshot


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    for name in ("one", "two", "three"):
        (tmp_path / name).write_bytes(name.encode())
    return tmp_path


@pytest.fixture
def recorded(root: Path) -> Recording:
    before = snapshot(root)
    (root / "one").write_bytes(b"ONE")
    (root / "two").write_bytes(b"TWO")
    (root / "three").unlink()
    (root / "kept").chmod(0o700)
    (root / "made").mkdir()
    Path(os.fsdecode(os.fsencode(root) + b"/made/\xff\n")).touch()
    return recording(before, snapshot(root))


def test_an_undo_says_what_it_did(root: Path, recorded: Recording) -> None:
    plan, failed = recorded.apply(Direction.UNDO, root / "one", root / "two", root / "made")
    assert summary_line(Outcome(plan, failed)) == (
        "undone 3 files and 1 directory (2 created removed, 2 modified restored)"
    )
    plan, failed = recorded.apply(Direction.UNDO)
    assert summary_line(Outcome(plan, failed)) == (
        "undone 1 file and 1 directory (1 deleted brought back, 1 metadata restored)"
    )
    plan, failed = recorded.apply(Direction.UNDO)
    assert summary_line(Outcome(plan, failed)) == "nothing to do"
    plan, failed = recorded.apply(Direction.RESTORE)
    assert summary_line(Outcome(plan, failed)) == (
        "restored 4 files and 2 directories (2 created brought back, 2 modified restored, 1 deleted removed,"
        " 1 metadata restored)"
    )


def test_what_the_record_has_no_state_of_is_named_as_not_undone(root: Path, recorded: Recording) -> None:
    plan, failed = recorded.apply(Direction.UNDO, root / "one")
    unkept = [Problem(b"/.cache/%d" % number, "its state is not kept") for number in range(7)]
    outcome = Outcome(plan, failed, unkept)
    assert summary_line(outcome) == (
        "undone 1 file (1 modified restored); not undone: 7 paths whose states are not kept"
    )
    *named, more = not_kept_lines(outcome)
    assert named == [f"not undone: /.cache/{number}: its state is not kept" for number in range(5)]
    assert more == "not undone: 2 more; `steno files RUN --all` lists them"
    assert len(to_json(outcome, "x")["not_kept"]) == 7
    assert outcome.exit_code == 0
    plan, failed = recorded.apply(Direction.UNDO, root / "one")
    assert summary_line(Outcome(plan, failed, unkept[:1])) == (
        "nothing to do; not undone: 1 path whose state is not kept"
    )


def test_what_failed_is_not_counted_and_gives_another_exit_code(root: Path, recorded: Recording) -> None:
    plan = recorded.plan(Direction.UNDO, root / "one")
    outcome = Outcome(plan, [Problem(os.fsencode(root / "one"), "no space")])
    assert (summary_line(outcome), outcome.exit_code) == ("nothing was undone", 1)
    assert Outcome(plan, []).exit_code == Outcome(plan, None).exit_code == 0


def test_a_plan_is_told_step_by_step_with_what_is_in_the_way(root: Path, recorded: Recording) -> None:
    (root / "one").write_bytes(b"edited")
    assert list(plan_lines(recorded.plan(Direction.UNDO, root / "one", root / "two", root / "made"))) == [
        f"remove {root}/made/\udcff\n",
        f"remove directory {root}/made",
        f"write {root}/two",
        f"conflict: {root}/one: its content has been changed since",
    ]


def test_data_names_every_byte_of_a_path(root: Path, recorded: Recording) -> None:
    (root / "one").write_bytes(b"edited")
    found = to_json(Outcome(recorded.plan(Direction.UNDO, root / "made", root / "one"), None), "the run")
    name = base64.b64encode(os.fsencode(root) + b"/made/\xff\n").decode()
    assert found == {
        "run_id": "the run",
        "direction": "undo",
        "applied": False,
        "says": "nothing was undone",
        "steps": [
            {"do": "remove", "path": f"{root}/made/\\xff\n", "path_b64": name},
            {"do": "remove_directory", "path": f"{root}/made"},
        ],
        "done": [],
        "conflicts": [{"path": f"{root}/one", "why": "its content has been changed since"}],
        "impossible": [],
        "overruled": [],
        "failed": [],
        "notes": [],
        "not_kept": [],
        "trash": [],
    }
