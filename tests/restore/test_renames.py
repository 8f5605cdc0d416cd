"""Directories that the run renamed come back with all they hold, also with what the record never saw."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from steno.restore.apply import apply_steps
from steno.restore.filesystem import FileSystem, Lookup
from steno.restore.plan import Do
from steno.restore.tasks import Direction, User
from support.renaming_recorder import Recorder
from support.snapshots import new_trash, snapshot, without_directory_times
from support.waiting import until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with one directory that holds what the run will see, and what it will not."""
    place = tmp_path / "root"
    (place / "old" / "deep").mkdir(parents=True)
    for name in ("seen", "unseen", "deep/unseen"):
        (place / "old" / name).write_bytes(b"content of " + name.encode())
    return place


@pytest.fixture
def run(root: Path) -> Recorder:
    recorder = Recorder(root)
    recorder.see(root, "directory")
    return recorder


def test_a_renamed_directory_is_renamed_back_and_again(root: Path, run: Recorder) -> None:
    run.rename(root / "old", root / "new")
    recorded, after = run.end()
    recorded.undo()
    assert snapshot(root) == run.before
    assert not recorded.plan(Direction.UNDO).steps
    recorded.restore()
    assert snapshot(root) == after
    assert not recorded.plan(Direction.RESTORE).steps


def test_what_was_first_met_under_the_new_name_comes_back_under_the_old_one(
    root: Path, run: Recorder
) -> None:
    run.rename(root / "old", root / "new")
    run.see(root / "new", "directory")
    run.write(root / "new" / "seen", b"changed")
    run.write(root / "new" / "created", b"created")
    run.see(root / "new" / "deep", "directory")
    run.unlink(root / "new" / "deep" / "unseen")
    run.rmdir(root / "new" / "deep")
    recorded, after = run.end()
    recorded.undo()
    assert snapshot(root) == run.before
    assert not recorded.plan(Direction.UNDO).steps
    recorded.restore()
    assert snapshot(root) == after


def test_what_was_changed_under_both_names_comes_back(root: Path, run: Recorder) -> None:
    run.see(root / "old", "directory")
    run.write(root / "old" / "seen", b"changed once")
    run.rename(root / "old", root / "new")
    run.write(root / "new" / "seen", b"changed twice")
    recorded, _ = run.end()
    recorded.undo()
    assert snapshot(root) == run.before


def test_what_nobody_looked_at_under_the_new_name_is_a_conflict(root: Path, run: Recorder) -> None:
    """It may have been changed since; nothing in a stranger's record would tell."""
    run.write(root / "old" / "seen", b"changed")
    run.rename(root / "old", root / "new")
    recorded, after = run.end()
    plan, _ = recorded.apply(Direction.UNDO)
    assert plan.conflicts == [(os.fsencode(root / "old" / "seen"), "how the run left it is not known")]
    assert snapshot(root) == after
    recorded.apply(Direction.UNDO, force=True)
    assert snapshot(root).keys() == run.before.keys()
    assert (root / "old" / "seen").read_bytes() == b"content of seen"


@pytest.mark.parametrize("edited", [False, True])
def test_what_went_along_comes_back_if_nobody_has_touched_it_since_the_run(
    root: Path, run: Recorder, *, edited: bool
) -> None:
    run.write(root / "old" / "seen", b"changed")
    run.write(root / "old" / "created", b"created")
    run.rename(root / "old", root / "new")
    recorded, _ = run.end()
    ended_ns = (root / "new" / "created").stat().st_ctime_ns
    if edited:
        until(lambda: touched(root / "new" / "seen") > ended_ns)
    plan = recorded.plan(Direction.UNDO, ended_ns=ended_ns)
    if edited:
        assert plan.conflicts == [(os.fsencode(root / "old" / "seen"), "it has been changed since")]
        return
    assert plan.is_clear
    assert not apply_steps(plan.steps, recorded.contents, User.of_this_process(), new_trash())
    assert without_directory_times(snapshot(root)) == without_directory_times(run.before)


def touched(path: Path) -> int:
    path.write_bytes(b"edited since")
    return path.stat().st_ctime_ns


def test_a_file_that_was_only_looked_for_is_not_removed_with_the_rename(root: Path, run: Recorder) -> None:
    run.see(root / "new" / "unseen", "existence")
    run.rename(root / "old", root / "new")
    recorded, _ = run.end()
    recorded.undo()
    assert snapshot(root) == run.before


def test_renames_in_a_row_are_undone_from_the_last_name_to_the_first(root: Path, run: Recorder) -> None:
    run.rename(root / "old", root / "second")
    run.write(root / "second" / "seen", b"changed")
    run.rename(root / "second", root / "third")
    run.see(root / "third" / "seen", "read")
    run.rename(root / "third" / "deep", root / "apart")
    run.write(root / "apart" / "unseen", b"changed too")
    recorded, _ = run.end()
    plan = recorded.plan(Direction.UNDO)
    assert [step.source.rpartition(b"/")[2] for step in plan.steps if step.do is Do.RENAME] == [
        b"third",
        b"apart",
    ]
    recorded.undo()
    assert snapshot(root) == run.before
    assert not recorded.plan(Direction.UNDO).steps


@pytest.mark.parametrize(
    ("old", "new"),
    [("old", "old"), ("old", "old/deep/x"), ("old/deep", "."), ("old/deep", "full"), ("old", "shut/old")],
)
def test_a_rename_that_the_kernel_refused_is_passed_over(root: Path, old: str, new: str) -> None:
    """The record holds what was tried, and cannot always tell how it ended."""
    for name in ("full", "shut"):
        (root / name).mkdir()
        (root / name / "file").write_bytes(b"file")
    run = Recorder(root)
    run.see(root / old, "delete")
    run.see(root / new, "write")
    run.write(root / "old" / "seen", b"changed")
    recorded, after = run.end()
    recorded.files["directory_renames"] = [{"from": str(root / old), "to": str(root / new)}]
    recorded.undo()
    assert (root / "old" / "seen").read_bytes() == b"content of seen"
    recorded.restore()
    assert snapshot(root).keys() == after.keys()


def test_a_directory_that_was_moved_to_another_device_was_copied(
    root: Path, run: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.see(root / "old", "delete")
    run.mkdir(root / "new")
    run.mkdir(root / "new" / "deep")
    for name in ("seen", "unseen", "deep/unseen"):
        run.write(root / "new" / name, (root / "old" / name).read_bytes())
        run.unlink(root / "old" / name)
    run.rmdir(root / "old" / "deep")
    run.rmdir(root / "old")
    recorded, after = run.end()
    recorded.files["directory_renames"] = [{"from": str(root / "old"), "to": str(root / "new")}]
    look = FileSystem.look

    def on_two_devices(self: FileSystem, path: bytes) -> Lookup:
        found = look(self, path)
        return found._replace(device=1) if path.startswith(os.fsencode(root / "new")) else found

    monkeypatch.setattr(FileSystem, "look", on_two_devices)
    recorded.undo()
    assert snapshot(root).keys() == run.before.keys()
    recorded.restore()
    assert snapshot(root).keys() == after.keys()


def test_two_directories_that_changed_names_change_back(root: Path, run: Recorder) -> None:
    (root / "other").mkdir()
    (root / "other" / "file").write_bytes(b"other")
    run.before = snapshot(root)
    run.rename(root / "old", root / "between")
    run.rename(root / "other", root / "old")
    run.rename(root / "between", root / "other")
    recorded, _ = run.end()
    recorded.undo()
    assert {path: state.get("data") for path, state in snapshot(root).items()} == {
        path: state.get("data") for path, state in run.before.items()
    }


def test_a_directory_that_was_renamed_and_then_removed_is_made_again(root: Path, run: Recorder) -> None:
    run.rename(root / "old", root / "new")
    for name in ("seen", "unseen", "deep/unseen"):
        run.unlink(root / "new" / name)
    run.rmdir(root / "new" / "deep")
    run.rmdir(root / "new")
    recorded, _ = run.end()
    recorded.undo()
    assert {path: state.get("data") for path, state in snapshot(root).items()} == {
        path: state.get("data") for path, state in run.before.items()
    }


def test_a_directory_goes_back_into_one_that_the_run_removed(root: Path, run: Recorder) -> None:
    run.rename(root / "old" / "deep", root / "deep")
    for name in ("seen", "unseen"):
        run.unlink(root / "old" / name)
    run.rmdir(root / "old")
    recorded, _ = run.end()
    recorded.undo()
    found = snapshot(root)
    assert found.keys() == run.before.keys()
    assert (root / "old" / "deep" / "unseen").read_bytes() == b"content of deep/unseen"
    assert not recorded.plan(Direction.UNDO).conflicts


def test_an_empty_directory_that_was_renamed_over_comes_back(root: Path) -> None:
    (root / "new").mkdir()
    run = Recorder(root)
    run.see(root, "directory")
    run.rename(root / "old", root / "new")
    recorded, _ = run.end()
    recorded.undo()
    assert snapshot(root) == run.before


def test_what_was_made_and_moved_into_place_is_removed(root: Path, run: Recorder) -> None:
    """As installers do: fill a directory beside, look for the target, rename."""
    run.see(root / "place" / "file", "existence")
    run.mkdir(root / "draft")
    run.write(root / "draft" / "file", b"installed")
    run.rename(root / "draft", root / "place")
    run.see(root / "place" / "file", "read")
    recorded, _ = run.end()
    recorded.undo()
    assert snapshot(root) == run.before


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda root: (root / "old").mkdir(), "its name is taken"),
        (lambda root: (root / "old").symlink_to("new"), "its name is taken"),
        (
            lambda root: [(root / "new").rename(root / "newer"), (root / "new").symlink_to("newer")],
            "what was renamed is not a directory any more",
        ),
    ],
)
def test_a_rename_that_cannot_be_undone_is_a_conflict_even_when_forced(
    root: Path, run: Recorder, spoil: Any, why: str, *, force: bool
) -> None:
    run.rename(root / "old", root / "new")
    run.write(root / "new" / "seen", b"changed")
    recorded, _ = run.end()
    spoil(root)
    since = snapshot(root)
    plan, failed = recorded.apply(Direction.UNDO, force=force)
    assert f"it cannot be renamed: {why}" in {problem.why for problem in plan.conflicts}
    assert not failed
    assert snapshot(root).keys() == since.keys()


def test_a_choice_below_leaves_the_rename_and_brings_back_the_file(root: Path, run: Recorder) -> None:
    run.rename(root / "old", root / "new")
    run.write(root / "new" / "seen", b"changed")
    recorded, _ = run.end()
    recorded.undo(root / "new" / "seen")
    assert (root / "new" / "seen").read_bytes() == b"content of seen"
    recorded.undo(root / "old")
    assert (root / "old" / "seen").read_bytes() == b"content of seen"
