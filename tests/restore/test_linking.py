"""Names of one file are that again; where they cannot be, each has its content, and this is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steno.restore.apply import carry_out
from steno.restore.filesystem import FileSystem
from steno.restore.plan import Do, Plan, make_plan
from steno.restore.states import HardLink
from steno.restore.tasks import Direction, User
from support.snapshots import new_trash, recording, records_of, snapshot

NAMES = ("a", "b", "c")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    (place / "a").write_text("content")
    for name in NAMES[1:]:
        (place / name).hardlink_to(place / "a")
    return place


def undo(root: Path, change: str, *, links: int = 3, known: tuple[str, ...] = NAMES) -> Plan:
    """After a shell did something to the names."""
    before = snapshot(root)
    node = (root / "a").stat()
    assert os.system(f"cd {root} && {change}") == 0
    made = recording(before, snapshot(root))
    for file in made.files["files"]:  # one content, one key
        if made.contents.blobs.get(file["before"].get("blob")) == b"content":
            file["before"]["blob"] = f"before:{root}/a"
    of_names = {os.fsencode(root / name): HardLink((node.st_dev, node.st_ino), links) for name in known}
    records = records_of(made.files)._replace(hard_links=of_names)
    user = User.of_this_process()
    plan = make_plan(records, Direction.UNDO, FileSystem(), made.contents, user=user)
    assert carry_out(plan, made.contents, user, new_trash()) == []
    assert snapshot(root) == before
    return plan


def nodes(root: Path) -> list[int]:
    return [(root / name).stat().st_ino for name in NAMES]


@pytest.mark.process
def test_what_is_still_there_gets_its_other_names_back(root: Path) -> None:
    first = nodes(root)
    plan = undo(root, "rm b; rm c; echo new >c")
    assert nodes(root) == first
    assert [step.do for step in plan.steps if step.do is not Do.SET] == [Do.HARD_LINK, Do.HARD_LINK]


@pytest.mark.process
def test_one_is_written_and_the_others_are_linked_to_it(root: Path) -> None:
    plan = undo(root, "echo new >a; rm b")
    assert len(set(nodes(root))) == 1
    assert (root / "a").stat().st_nlink == 3
    assert plan.notes == []


@pytest.mark.process
def test_what_cannot_be_linked_is_written_and_this_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    plan = undo(root, "rm b")
    assert (root / "b").stat().st_ino != (root / "a").stat().st_ino
    ((path, why),) = plan.notes
    assert path == os.fsencode(root / "b")
    assert why == f"it is a file of its own now, and no name of {root / 'a'}: Operation not permitted"


@pytest.mark.process
def test_a_file_with_names_that_the_record_does_not_know_is_one_of_its_own_and_this_is_said(
    root: Path,
) -> None:
    plan = undo(root, "rm b", known=("b",))
    assert [why for _, why in plan.notes] == [
        "it had other names (hard links) that the record does not know: it is a file of its own now"
    ]


@pytest.mark.process
def test_another_file_that_got_the_same_inode_is_no_name_of_it(root: Path) -> None:
    """Of such the states differ: size, time, owner or mode."""
    (root / "b").unlink()
    (root / "b").write_text("another")
    os.utime(root / "b", ns=(5, 5))
    before = snapshot(root)
    undo(root, "echo new >a; rm b", known=("a", "b"))
    assert snapshot(root) == before
    assert (root / "b").stat().st_nlink == 1
