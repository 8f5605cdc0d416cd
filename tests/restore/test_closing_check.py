"""When the steps are taken, everything is looked at once more: what is not as the record says has failed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from steno.restore import apply, filesystem
from steno.restore.apply import carry_out
from steno.restore.filesystem import rename_to_free
from steno.restore.plan import Do, Step
from steno.restore.tasks import Direction, User
from support.renaming_recorder import Recorder
from support.snapshots import Recording, new_trash, recording, snapshot

WHY = "it is not what the record says, though nothing failed"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    (place / "d").mkdir(parents=True)
    for name in ("first", "second"):
        (place / "d" / name).write_bytes(b"content")
    return place


@pytest.fixture
def recorded(root: Path) -> Recording:
    """Undone already."""
    run = Recorder(root, lists=True)
    run.rename(root / "d", root / "q")
    run.unlink(root / "q" / "first")
    written = root / "q" / "second"
    time_ns = written.stat().st_mtime_ns
    run.write(written, b"changed")
    os.utime(written, ns=(time_ns, time_ns))  # of the same size as well: only the content tells
    recorded, _ = run.end()
    recorded.undo()
    return recorded


def failed_names(recorded: Recording, *left_out: Do) -> dict[str, str]:
    """What fails if a plan lacks some of its steps."""
    plan = recorded.plan(Direction.RESTORE)
    lacking = plan._replace(steps=[step for step in plan.steps if step.do not in left_out])
    failed = carry_out(lacking, recorded.contents, User.of_this_process(), new_trash())
    return {Path(os.fsdecode(problem.path)).name: problem.why for problem in failed}


def test_nothing_is_said_of_what_is_right(recorded: Recording) -> None:
    assert failed_names(recorded) == {}


def test_what_should_have_gone_is_found(recorded: Recording) -> None:
    assert failed_names(recorded, Do.REMOVE) == {"first": WHY}


def test_what_should_have_been_written_is_found(recorded: Recording) -> None:
    assert failed_names(recorded, Do.WRITE) == {"second": WHY}


def test_a_name_in_a_renamed_directory_is_looked_at_also_if_no_step_is_about_it(
    root: Path, recorded: Recording
) -> None:
    """Nothing was there before and nothing after: no task, and still nothing may be there in the end."""
    for name in ("d", "q"):
        recorded.file(root / name / "first")["before"] = {"exists": False}
    assert failed_names(recorded) == {"first": WHY}


def test_what_is_impossible_is_not_named_again(root: Path, recorded: Recording) -> None:
    recorded.contents.blobs[f"after:{root}/q/second"] = b""
    plan = recorded.plan(Direction.RESTORE, force=True)
    assert [problem.path for problem in plan.impossible] == [os.fsencode(root / "q" / "second")]
    assert carry_out(plan, recorded.contents, User.of_this_process(), new_trash()) == []


def test_a_name_that_is_taken_at_the_last_moment_is_not_overwritten(
    root: Path, recorded: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It appears after everything was looked at: an empty directory, which a plain rename would replace."""

    def at_the_last_moment(*where: Any) -> None:
        (root / "q").mkdir()
        rename_to_free(*where)

    monkeypatch.setattr(apply, "rename_to_free", at_the_last_moment)
    (step,) = [step for step in recorded.plan(Direction.RESTORE).steps if step.do is Do.RENAME]
    (problem,) = apply.apply_steps([step], recorded.contents, User.of_this_process(), new_trash())
    assert problem.why == "the name is taken"
    assert (root / "d" / "second").exists()
    assert list((root / "q").iterdir()) == []


def test_a_file_that_appears_at_the_last_moment_is_not_overwritten(
    root: Path, recorded: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_the_last_moment(*where: Any) -> None:
        (root / "new").write_bytes(b"mine")
        rename_to_free(*where)

    monkeypatch.setattr(apply, "rename_to_free", at_the_last_moment)
    (write,) = [step for step in recorded.plan(Direction.RESTORE).steps if step.do is Do.WRITE]
    step = Step(Do.WRITE, os.fsencode(root / "new"), write.target)
    (problem,) = apply.apply_steps([step], recorded.contents, User.of_this_process(), new_trash())
    assert problem.why == "something was put there while this was going on"
    assert sorted(os.listdir(root)) == ["d", "new"]
    assert (root / "new").read_bytes() == b"mine"


@pytest.mark.parametrize("do", [Do.WRITE, Do.REMOVE])
def test_what_somebody_writes_at_the_last_moment_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, do: Do
) -> None:
    """Between the last look and the rename: what came out of the rename tells."""
    root = tmp_path / "late"
    root.mkdir()
    (root / "f").write_bytes(b"old")
    before = snapshot(root) if do is Do.WRITE else {}
    (root / "f").write_bytes(b"new")
    recorded = recording(before, snapshot(root))
    (step,) = [step for step in recorded.plan(Direction.UNDO).steps if step.do is do]
    name = {Do.WRITE: "exchange", Do.REMOVE: "rename_to_free"}[do]
    real = getattr(filesystem, name)

    def at_the_last_moment(*words: object) -> None:
        if (root / "f").exists() and (root / "f").read_bytes() == b"new":
            (root / "f").write_bytes(b"mine, not yours")
        real(*words)

    monkeypatch.setattr(apply, name, at_the_last_moment)
    trash = new_trash()
    (problem,) = apply.apply_steps([step], recorded.contents, User.of_this_process(), trash)
    assert problem.why == "it was changed while this was going on"
    assert (root / "f").read_bytes() == b"mine, not yours"
    assert os.listdir(root) == ["f"]
    assert not trash.places


def test_what_somebody_has_open_goes_to_the_trash_and_keeps_what_is_written_to_it(tmp_path: Path) -> None:
    root = tmp_path / "open"
    root.mkdir()
    (root / "f").write_bytes(b"old")
    before = snapshot(root)
    (root / "f").write_bytes(b"new")
    recorded = recording(before, snapshot(root))
    trash = new_trash()
    with (root / "f").open("ab", buffering=0) as file:
        assert not carry_out(recorded.plan(Direction.UNDO), recorded.contents, User.of_this_process(), trash)
        file.write(b" and mine")
    assert snapshot(root) == before
    (place,) = trash.places
    assert Path(os.fsdecode(place), *root.parts[1:], "f").read_bytes() == b"new and mine"
