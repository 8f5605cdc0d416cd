"""Plans: what is in the way of an undo or a restore, what cannot be done, and what is left alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from steno.restore.plan import Do
from steno.restore.tasks import Direction, User
from support.snapshots import Recording, recording, snapshot

NOBODY = User(65534, is_root=False)
OLD_NS = 1_700_000_000_123_456_789


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    (place / "kept").write_bytes(b"kept")
    (place / "changed").write_bytes(b"before")
    (place / "deleted").write_bytes(b"deleted")
    (place / "link").symlink_to("kept")
    return place


@pytest.fixture
def recorded(root: Path) -> Recording:
    """A run that changed, deleted and created a file, made a directory and turned a link."""
    before = snapshot(root)
    (root / "changed").write_bytes(b"after!")
    (root / "deleted").unlink()
    (root / "created").write_bytes(b"created")
    (root / "made").mkdir()
    (root / "made" / "inside").write_bytes(b"inside")
    (root / "link").unlink()
    (root / "link").symlink_to("changed")
    return recording(before, snapshot(root))


def conflicts(recorded: Recording, direction: Direction = Direction.UNDO) -> dict[str, str]:
    plan = recorded.plan(direction)
    return {os.path.basename(os.fsdecode(path)): why for path, why in plan.conflicts}  # noqa: PTH119


def test_steps_are_in_an_order_that_works(root: Path, recorded: Recording) -> None:
    plan = recorded.plan(Direction.UNDO)
    assert plan.is_clear
    done = [(step.do, step.path.rpartition(b"/")[2]) for step in plan.steps]
    assert done == [
        (Do.REMOVE, b"inside"),
        (Do.REMOVE_DIRECTORY, b"made"),
        (Do.REMOVE, b"created"),
        (Do.WRITE, b"changed"),
        (Do.WRITE, b"deleted"),
        (Do.LINK, b"link"),
        (Do.SET, b"root"),
    ]
    assert sorted((change.did, change.directory) for change in plan.changes) == [
        ("created", False),
        ("created", False),
        ("created", True),
        ("deleted", False),
        ("modified", False),
        ("modified", False),
    ]


@pytest.mark.parametrize(
    ("name", "edit", "why"),
    [
        ("changed", lambda path: path.write_bytes(b"edited"), "its content has been changed since"),
        ("changed", lambda path: path.chmod(0o600), "its mode has been changed since, to 0600"),
        ("changed", lambda path: path.unlink(), "there is nothing now, the run left a file"),
        (
            "created",
            lambda path: path.write_bytes(b"longer than it was"),
            "its content has been changed since",
        ),
        ("deleted", lambda path: path.write_bytes(b"new"), "its content has been changed since"),
        ("deleted", lambda path: path.mkdir(), "there is a directory now, the run left nothing"),
        ("deleted", os.mkfifo, "there is a FIFO now, the run left nothing"),
        ("made", lambda path: (path / "new").touch(), "it holds what this does not remove: new"),
    ],
)
def test_what_was_changed_since_is_a_conflict(
    root: Path, recorded: Recording, name: str, edit: object, why: str
) -> None:
    edit(root / name)  # type: ignore[operator]
    assert conflicts(recorded) == {name: why}
    since = snapshot(root)
    plan, _ = recorded.apply(Direction.UNDO)
    assert not plan.is_clear
    assert snapshot(root) == since


def test_a_link_that_was_turned_since_is_a_conflict(root: Path, recorded: Recording) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("made")
    assert conflicts(recorded) == {"link": "its target has been changed since"}


def test_a_mere_touch_is_no_conflict_when_the_content_is_known(root: Path, recorded: Recording) -> None:
    os.utime(root / "changed")
    assert conflicts(recorded) == {}


def test_without_a_content_the_time_decides(root: Path, recorded: Recording) -> None:
    recorded.file(root / "changed")["after"].pop("blob")
    assert conflicts(recorded) == {}
    os.utime(root / "changed", ns=(OLD_NS, OLD_NS))
    assert conflicts(recorded) == {"changed": "its content has been changed since"}


def test_force_overwrites_what_was_changed_since_and_names_it(root: Path, recorded: Recording) -> None:
    (root / "changed").write_bytes(b"edited")
    plan, failed = recorded.apply(Direction.UNDO, force=True)
    assert [problem.path for problem in plan.overruled] == [os.fsencode(root / "changed")]
    assert (plan.is_clear, failed) == (True, [])
    assert (root / "changed").read_bytes() == b"before"


def test_force_never_removes_what_the_record_does_not_know(root: Path, recorded: Recording) -> None:
    (root / "made" / "mine").write_bytes(b"mine")
    plan, failed = recorded.apply(Direction.UNDO, force=True)
    assert [problem.path for problem in plan.conflicts] == [os.fsencode(root / "made")]
    assert not failed
    assert snapshot(root / "made").keys() == {os.fsencode(root / "made"), os.fsencode(root / "made" / "mine")}
    assert not (root / "created").exists()


def test_only_the_chosen_paths_are_brought_back(root: Path, recorded: Recording) -> None:
    recorded.undo(root / "changed", root / "made")
    assert (root / "changed").read_bytes() == b"before"
    assert not (root / "made").exists()
    assert (root / "created").exists()
    assert not (root / "deleted").exists()


def test_a_choice_is_a_name_not_a_beginning_of_one(root: Path, recorded: Recording) -> None:
    assert not recorded.plan(Direction.UNDO, root / "chang").steps


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("too_large", "its content was too large to keep"),
        ("raced", "its content had changed before it could be copied"),
        ("unreadable", "its content could not be read"),
        ("something else", "its content is not in the record"),
        (None, "its content is not in the record"),
    ],
)
def test_a_content_that_is_not_kept_makes_it_impossible(
    root: Path, recorded: Recording, content: str | None, why: str
) -> None:
    before = recorded.file(root / "changed")["before"]
    before.pop("blob")
    before["content"] = content
    plan, _ = recorded.apply(Direction.UNDO)
    assert plan.impossible == [(os.fsencode(root / "changed"), why)]
    assert (root / "created").exists()
    plan, failed = recorded.apply(Direction.UNDO, force=True)
    assert (len(plan.impossible), failed) == (1, [])
    assert (root / "changed").read_bytes() == b"after!"
    assert not (root / "created").exists()


def test_a_blob_that_is_missing_or_of_another_size_makes_it_impossible(
    root: Path, recorded: Recording
) -> None:
    key = f"before:{root / 'changed'}"
    recorded.contents.blobs[key] = b"not what the state says"
    (problem,) = recorded.plan(Direction.UNDO).impossible
    assert problem.why == "the content in the record is not of the recorded size"
    del recorded.contents.blobs[key]
    (problem,) = recorded.plan(Direction.UNDO).impossible
    assert problem.why == "its content is not in the record"


def test_an_unknown_state_before_is_impossible_and_after_is_a_conflict(
    root: Path, recorded: Recording
) -> None:
    recorded.file(root / "changed")["before"] = {"unknown": True}
    recorded.file(root / "created")["after"] = {"unknown": True}
    recorded.file(root / "kept")["after"] = {"unknown": True}
    plan = recorded.plan(Direction.UNDO)
    assert plan.impossible == [(os.fsencode(root / "changed"), "the record does not know what was there")]
    assert plan.conflicts == [(os.fsencode(root / "created"), "how the run left it is not known")]


def test_what_is_back_already_needs_no_known_end(root: Path, recorded: Recording) -> None:
    recorded.file(root / "created")["after"] = {"unknown": True}
    (root / "created").unlink()
    assert recorded.plan(Direction.UNDO).is_clear


def test_what_the_run_only_looked_at_is_left_alone_and_said(root: Path, recorded: Recording) -> None:
    recorded.file(root / "changed")["operations"] = ["existence", "read"]
    recorded.file(root / "changed")["before"].pop("blob")
    plan, _ = recorded.apply(Direction.UNDO)
    assert plan.notes == [
        (os.fsencode(root / "changed"), "changed while the run only looked at it: left alone")
    ]
    assert (root / "changed").read_bytes() == b"after!"


def test_a_file_that_was_changed_through_another_name_comes_back(root: Path, recorded: Recording) -> None:
    """Its own name was only looked at; its old content was kept all the same."""
    recorded.file(root / "changed")["operations"] = ["existence"]
    recorded.undo()
    assert (root / "changed").read_bytes() == b"before"


def test_restore_leaves_alone_what_has_no_content_and_was_not_changed(
    root: Path, recorded: Recording
) -> None:
    for state in ("before", "after"):
        recorded.file(root / "kept")[state].pop("blob")
    (root / "kept").write_bytes(b"edited since")
    assert conflicts(recorded, Direction.RESTORE) == {}


def test_restore_writes_a_file_that_was_only_read_when_its_content_is_kept(
    root: Path, recorded: Recording
) -> None:
    (root / "kept").unlink()
    assert conflicts(recorded, Direction.RESTORE) == {"kept": "there is nothing now, the run left a file"}
    recorded.apply(Direction.RESTORE, force=True)
    assert (root / "kept").read_bytes() == b"kept"


def test_restore_takes_both_the_before_and_the_after_for_known(root: Path, recorded: Recording) -> None:
    recorded.undo(root / "changed")
    recorded.restore()
    assert (root / "changed").read_bytes() == b"after!"
    assert not (root / "deleted").exists()


def test_a_directory_that_is_gone_is_only_made_again_when_forced(root: Path) -> None:
    (root / "lost").mkdir()
    (root / "lost" / "file").write_bytes(b"file")
    before = snapshot(root)
    (root / "lost" / "file").unlink()
    recorded = recording(before, snapshot(root))
    recorded.files["files"].remove(recorded.file(root / "lost"))
    (root / "lost").rmdir()
    assert conflicts(recorded) == {"file": f"the directory {root / 'lost'} is not there"}
    recorded.apply(Direction.UNDO, force=True)
    assert (root / "lost" / "file").read_bytes() == b"file"


def test_records_that_contradict_each_other_are_a_conflict(root: Path, recorded: Recording) -> None:
    """A file cannot have been inside another file."""
    inside = recorded.file(root / "made" / "inside")
    inside["before"] = recorded.file(root / "changed")["before"]
    inside["operations"] = ["write"]
    assert "made" in conflicts(recorded)


def test_times_of_a_directory_that_others_use_are_theirs(root: Path) -> None:
    (root / "shared").mkdir()
    before = snapshot(root)
    os.utime(root / "shared", ns=(OLD_NS, OLD_NS))
    recorded = recording(before, snapshot(root))
    (root / "shared" / "new").touch()
    since = (root / "shared").stat().st_mtime_ns
    recorded.undo()
    assert (root / "shared").stat().st_mtime_ns == since


def test_a_directory_whose_time_the_run_kept_keeps_it(root: Path) -> None:
    os.utime(root, ns=(OLD_NS, OLD_NS))
    before = snapshot(root)
    (root / "created").touch()
    os.utime(root, ns=(OLD_NS, OLD_NS))
    recording(before, snapshot(root)).undo()
    assert snapshot(root) == before


def test_another_name_of_a_file_keeps_its_content_and_this_is_said(root: Path) -> None:
    (root / "second").hardlink_to(root / "changed")
    before = snapshot(root)
    (root / "changed").write_bytes(b"after!")
    recorded = recording(before, snapshot(root))
    recorded.files["files"].remove(recorded.file(root / "second"))
    plan, _ = recorded.apply(Direction.UNDO)
    assert [problem.why for problem in plan.notes] == [
        "it has other names (hard links), which keep what they have"
    ]
    assert ((root / "changed").read_bytes(), (root / "second").read_bytes()) == (b"before", b"after!")


def test_of_a_directory_in_the_place_of_a_file_no_other_names_are_told(root: Path) -> None:
    before = snapshot(root)
    (root / "changed").unlink()
    (root / "changed").mkdir()
    plan, _ = recording(before, snapshot(root)).apply(Direction.UNDO)
    assert plan.notes == []
    assert snapshot(root) == before


def test_two_recorded_names_of_one_file_both_come_back(root: Path) -> None:
    (root / "second").hardlink_to(root / "changed")
    before = snapshot(root)
    (root / "second").write_bytes(b"after!")
    (root / "third").hardlink_to(root / "second")
    recording(before, snapshot(root)).undo()
    assert snapshot(root) == before


def test_what_belongs_to_others_is_not_touched_unless_by_root(root: Path, recorded: Recording) -> None:
    (root / "changed").chmod(0o4755)
    plan = recorded.plan(Direction.UNDO, user=NOBODY)
    assert {problem.why for problem in plan.impossible} == {f"it belongs to another user ({os.geteuid()})"}
    assert (os.fsencode(root / "changed")) in {problem.path for problem in plan.impossible}


def test_a_set_id_bit_comes_back_only_with_its_owner(root: Path) -> None:
    (root / "deleted").chmod(0o6755)
    before = snapshot(root)
    (root / "deleted").unlink()
    plan = recording(before, snapshot(root)).plan(Direction.UNDO, root / "deleted", user=NOBODY)
    assert [problem.why for problem in plan.notes] == [
        f"it belonged to another user ({os.geteuid()}); only root can give it back",
        "it is brought back without its set-id bits, because it belongs to you",
    ]


def test_special_files_are_removed_but_never_made(root: Path) -> None:
    os.mkfifo(root / "fifo")
    before = snapshot(root)
    (root / "fifo").unlink()
    os.mkfifo(root / "new")
    recorded = recording(before, snapshot(root))
    plan, failed = recorded.apply(Direction.UNDO, force=True)
    assert plan.impossible == [(os.fsencode(root / "fifo"), "a FIFO cannot be brought back")]
    assert not failed
    assert not (root / "new").exists()


def test_the_root_of_the_file_system_is_never_touched(root: Path, recorded: Recording) -> None:
    top = dict(recorded.file(root), path="/")
    recorded.files["files"].insert(0, top)
    assert b"/" not in {step.path for step in recorded.plan(Direction.UNDO).steps}


def test_a_whole_tree_that_was_removed_comes_back(root: Path) -> None:
    deep = root.joinpath(*("directory with a long name" * 8 for _ in range(15)))
    deep.mkdir(parents=True)
    os.utime(deep, ns=(OLD_NS, OLD_NS))
    before = snapshot(root)
    shutil.rmtree(root / deep.relative_to(root).parts[0])
    recording(before, snapshot(root)).undo()
    assert snapshot(root) == before


def test_two_names_of_one_file_get_their_mode_back_together(root: Path) -> None:
    (root / "second").hardlink_to(root / "changed")
    before = snapshot(root)
    (root / "second").chmod(0o600)
    recording(before, snapshot(root)).undo()
    assert snapshot(root) == before
    assert (root / "second").samefile(root / "changed")
