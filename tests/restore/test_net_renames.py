"""What a run did on the way does not matter: a directory goes from its last name to its first, or back."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from steno.restore import moves
from steno.restore.plan import Do
from steno.restore.states import is_at_or_below
from steno.restore.tasks import Direction
from support.renaming_recorder import Recorder
from support.snapshots import snapshot, without_directory_times


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    for name in ("d/deep/file", "d/first", "d/second", "e/other"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(b"content of " + name.encode())
    return place


@pytest.fixture
def run(root: Path) -> Recorder:
    recorder = Recorder(root, lists=True)
    recorder.see(root, "directory")
    return recorder


def deleting_under_the_new_name(run: Recorder, root: Path) -> None:
    run.rename(root / "d", root / "q")
    run.unlink(root / "q" / "first")


def deleting_under_the_old_name(run: Recorder, root: Path) -> None:
    run.unlink(root / "d" / "first")
    run.rename(root / "d", root / "q")


def by_way_of_a_directory_that_is_gone(run: Recorder, root: Path) -> None:
    run.mkdir(root / "a")
    run.rename(root / "d", root / "a" / "d")
    run.rename(root / "a" / "d", root / "q")
    run.rmdir(root / "a")


def a_made_one_that_became_a_file(run: Recorder, root: Path) -> None:
    run.mkdir(root / "a")
    run.rename(root / "a", root / "b")
    run.rmdir(root / "b")
    run.write(root / "b", b"hi")


def a_link_in_its_place(run: Recorder, root: Path) -> None:
    run.rename(root / "d", root / "real")
    run.see(root / "d", "write")
    (root / "d").symlink_to("real")


def another_in_its_place(run: Recorder, root: Path) -> None:
    run.rename(root / "d", root / "q")
    run.mkdir(root / "d")
    run.write(root / "d" / "first", b"another one")
    run.mkdir(root / "d" / "new")
    run.write(root / "d" / "new" / "file", b"new")


def exchanging_two(run: Recorder, root: Path) -> None:
    run.exchange(root / "d", root / "e")
    run.write(root / "e" / "new", b"new")
    run.unlink(root / "d" / "other")


def exchanging_by_a_third_name(run: Recorder, root: Path) -> None:
    run.rename(root / "d", root / "between")
    run.rename(root / "e", root / "d")
    run.rename(root / "between", root / "e")


def a_copy_in_its_place(run: Recorder, root: Path) -> None:
    run.mkdir(root / "d.new")
    run.write(root / "d.new" / "first", b"a new first")
    run.rename(root / "d", root / "d.old")
    run.rename(root / "d.new", root / "d")
    for name in ("first", "second", "deep/file"):
        run.unlink(root / "d.old" / name)
    run.rmdir(root / "d.old" / "deep")
    run.rmdir(root / "d.old")


def one_below_the_other(run: Recorder, root: Path) -> None:
    run.rename(root / "d" / "deep", root / "q")
    run.exchange(root / "q", root / "d")


RUNS = [
    deleting_under_the_new_name,
    deleting_under_the_old_name,
    by_way_of_a_directory_that_is_gone,
    a_made_one_that_became_a_file,
    a_link_in_its_place,
    another_in_its_place,
    exchanging_two,
    exchanging_by_a_third_name,
    a_copy_in_its_place,
    one_below_the_other,
]


@pytest.mark.parametrize("doing", RUNS, ids=lambda doing: doing.__name__)
def test_it_is_undone_and_restored_and_both_once(
    root: Path, run: Recorder, doing: Callable[[Recorder, Path], None]
) -> None:
    doing(run, root)
    recorded, after = run.end()
    for direction, wanted in ((Direction.UNDO, run.before), (Direction.RESTORE, after)):
        plan, failed = recorded.apply(direction)
        assert (plan.conflicts, plan.impossible, failed) == ([], [], [])
        assert without_directory_times(snapshot(root)) == without_directory_times(wanted)
        again = recorded.plan(direction)
        assert again.is_clear
        assert {step.do for step in again.steps} <= {Do.SET}


def test_what_somebody_put_into_the_place_since_is_not_cleared(root: Path, run: Recorder) -> None:
    another_in_its_place(run, root)
    recorded, _ = run.end()
    (root / "d" / "new" / "mine").write_bytes(b"mine")
    since = snapshot(root)
    for force in (False, True):
        plan, _ = recorded.apply(Direction.UNDO, force=force)
        assert [problem.why for problem in plan.conflicts] == ["it cannot be renamed: its name is taken"]
        assert snapshot(root).keys() == since.keys()


def test_a_directory_that_holds_the_one_to_come_back_is_a_conflict(root: Path, run: Recorder) -> None:
    run.mkdir(root / "made")
    run.rename(root / "d", root / "made" / "d")
    run.rename(root / "made", root / "d")
    recorded, after = run.end()
    plan, _ = recorded.apply(Direction.UNDO, force=True)
    assert "it cannot be renamed: its name is taken" in {problem.why for problem in plan.conflicts}
    assert (snapshot(root)).keys() == after.keys()


def test_a_name_that_held_a_secret_is_not_given_to_a_directory(root: Path, run: Recorder) -> None:
    run.rename(root / "d", root / "q")
    recorded, _ = run.end()
    recorded.undo()
    (rename,) = recorded.files["directory_renames"]
    rename["to"] = recorded.file(root / "q")["path"] = f"{root}/****"
    plan, _ = recorded.apply(Direction.RESTORE)
    assert (os.fsencode(root / "d"), "it cannot be renamed: a name of it held a secret") in (plan.conflicts)


def test_a_choice_of_one_name_means_the_whole_way_of_a_directory(root: Path, run: Recorder) -> None:
    run.rename(root / "d", root / "between")
    run.rename(root / "between", root / "q")
    recorded, _ = run.end()
    recorded.undo(root / "q")
    assert snapshot(root).keys() == run.before.keys()


def test_a_restore_says_what_the_record_does_not_know(root: Path) -> None:
    """Where there was too much to list, nobody knows how what went along was left."""
    run = Recorder(root)
    run.write(root / "d" / "first", b"changed")
    run.rename(root / "d", root / "q")
    recorded, _ = run.end()
    recorded.apply(Direction.UNDO, force=True)
    plan, _ = recorded.apply(Direction.RESTORE)
    assert plan.impossible == [(os.fsencode(root / "q" / "first"), "the record does not know what was there")]


def test_many_directories_that_wait_for_each_other_are_not_all_held_against_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 240
    held = 0

    def counted(path: bytes, directory: bytes) -> bool:
        nonlocal held
        held += 1
        return is_at_or_below(path, directory)

    names = [tmp_path / f"root/{number}" for number in range(count + 1)]
    for name in names[:-1]:
        name.mkdir(parents=True)
        (name / "file").write_text(name.name)
    run = Recorder(tmp_path / "root", lists=True)
    for old, new in reversed(list(itertools.pairwise(names))):
        run.rename(old, new)
    recorded, _ = run.end()
    monkeypatch.setattr(moves, "is_at_or_below", counted)
    recorded.undo()
    assert [(name / "file").read_text() for name in names[:-1]] == [name.name for name in names[:-1]]
    assert held <= count**2
