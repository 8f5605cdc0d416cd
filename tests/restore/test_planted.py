"""Links, files and directories that somebody plants in the way: nothing outside is ever reached."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steno.restore import apply, filesystem
from steno.restore.apply import apply_steps, carry_out
from steno.restore.filesystem import FileSystem, ObstacleError, open_parent
from steno.restore.plan import Plan, Problem
from steno.restore.states import Kind
from steno.restore.tasks import Direction, User
from support.snapshots import Recording, new_trash, recording, snapshot

NOBODY = 65534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    (place / "sub" / "deep").mkdir(parents=True)
    (place / "sub" / "file").write_bytes(b"before")
    (place / "sub" / "gone").write_bytes(b"gone")
    return place


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What a planted link leads to: names as in the tree."""
    place = tmp_path / "outside"
    (place / "deep").mkdir(parents=True)
    (place / "file").write_bytes(b"after!")
    (place / "created").write_bytes(b"created")
    return place


@pytest.fixture
def recorded(root: Path) -> Recording:
    before = snapshot(root)
    (root / "sub" / "file").write_bytes(b"after!")
    (root / "sub" / "gone").unlink()
    (root / "sub" / "created").write_bytes(b"created")
    (root / "sub" / "deep").rmdir()
    return recording(before, snapshot(root))


def taken(plan: Plan, recorded: Recording) -> list[Problem]:
    return apply_steps(plan.steps, recorded.contents, User.of_this_process(), new_trash())


def plant(root: Path, outside: Path) -> None:
    """Put a link to the outside where a directory was."""
    shutil.move(root / "sub", root / "moved")
    (root / "sub").symlink_to(outside)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("direction", list(Direction))
def test_a_directory_that_became_a_link_is_a_conflict_and_not_followed(
    root: Path, outside: Path, recorded: Recording, direction: Direction, *, force: bool
) -> None:
    recorded.files["files"] = [
        file for file in recorded.files["files"] if not file["path"].endswith(("/sub", "/root"))
    ]
    plant(root, outside)
    at_first = snapshot(outside)
    plan, failed = recorded.apply(direction, force=force)
    assert {problem.why for problem in plan.conflicts} == {f"{root / 'sub'} above it is a symbolic link now"}
    assert not failed
    assert snapshot(outside) == at_first


def test_a_link_that_is_planted_after_the_look_leads_nowhere(
    root: Path, outside: Path, recorded: Recording
) -> None:
    plan = recorded.plan(Direction.UNDO)
    plant(root, outside)
    at_first = snapshot(outside)
    failed = taken(plan, recorded)
    assert {problem.path for problem in failed} == {
        step.path for step in plan.steps if step.path != os.fsencode(root)
    }
    assert snapshot(outside) == at_first


def test_a_file_that_is_edited_after_the_look_is_left_alone(root: Path, recorded: Recording) -> None:
    plan = recorded.plan(Direction.UNDO)
    (root / "sub" / "file").write_bytes(b"edited")
    (root / "sub" / "created").unlink()
    (root / "sub" / "created").symlink_to("/etc/passwd")
    (root / "sub" / "gone").mkdir()
    failed = taken(plan, recorded)
    assert {Path(os.fsdecode(problem.path)).name for problem in failed} == {"file", "created", "gone"}
    assert (root / "sub" / "file").read_bytes() == b"edited"
    assert (root / "sub" / "created").is_symlink()
    assert (root / "sub" / "deep").is_dir()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_name_that_is_planted_for_the_draft_is_not_written_through(
    root: Path, outside: Path, recorded: Recording, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever has the name of the draft goes to the trash or the path fails; it is never opened."""
    real_exchange = filesystem.exchange
    drafts: list[bytes] = []

    def spy(parent: int, name: bytes, *rest: object) -> None:
        drafts.append(name)
        real_exchange(parent, name, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(apply, "exchange", spy)
        recorded.undo(root / "sub" / "file")
    draft = root / "sub" / os.fsdecode(drafts[0])
    assert not os.path.lexists(draft)
    recorded.restore(root / "sub" / "file")
    draft.symlink_to(outside / "file") if kind == "link" else draft.hardlink_to(outside / "file")
    recorded.undo(root / "sub" / "file")
    assert (root / "sub" / "file").read_bytes() == b"before"
    assert (outside / "file").read_bytes() == b"after!"
    assert not os.path.lexists(draft)


def test_a_directory_with_the_name_of_the_draft_goes_to_the_trash(root: Path, recorded: Recording) -> None:
    name = hashlib.sha256(b"file").hexdigest()[:24]
    (root / "sub" / f".steno-{name}.tmp").mkdir()
    (root / "sub" / f".steno-{name}.tmp" / "mine").write_bytes(b"mine")
    plan, trash = recorded.plan(Direction.UNDO), new_trash()
    assert not carry_out(plan, recorded.contents, User.of_this_process(), trash)
    (place,) = trash.places
    assert Path(os.fsdecode(place), *root.parts[1:], "sub", "file", "mine").read_bytes() == b"mine"
    assert (root / "sub" / "gone").read_bytes() == b"gone"


def test_no_draft_is_left_behind_by_a_failure(
    root: Path, recorded: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    _, failed = recorded.apply(Direction.UNDO)
    assert {problem.why for problem in failed} == {"No space left on device"}
    assert (root / "sub" / "file").read_bytes() == b"after!"
    assert not [name for name in os.listdir(root / "sub") if name.startswith(".steno")]


def test_a_blob_that_changed_under_way_is_not_written(root: Path, recorded: Recording) -> None:
    plan = recorded.plan(Direction.UNDO)
    recorded.contents.blobs[f"before:{root / 'sub' / 'file'}"] = b"something else"
    del recorded.contents.blobs[f"before:{root / 'sub' / 'gone'}"]
    failed = taken(plan, recorded)
    assert {problem.why for problem in failed} == {
        "the content in the record is not of the recorded size",
        "its content is not in the record",
    }
    assert (root / "sub" / "file").read_bytes() == b"after!"


@pytest.mark.parametrize("special", ["fifo", "socket link", "unreadable"])
def test_looking_never_blocks_and_never_opens_what_is_special(root: Path, special: str) -> None:
    path = root / "special"
    match special:
        case "fifo":
            os.mkfifo(path)
        case "socket link":
            path.symlink_to("/dev/tty")
        case _:
            path.touch(0)
    sight = FileSystem().look(os.fsencode(path))
    assert sight.state.exists
    assert FileSystem().holds(os.fsencode(path), b"content") in {None, False}
    assert FileSystem().names(os.fsencode(path)) is None


def test_the_first_name_that_is_no_directory_is_told(root: Path) -> None:
    (root / "link").symlink_to("sub")
    for name, kind in (("link", Kind.SYMLINK), ("sub/file", Kind.FILE), ("nothing", Kind.ABSENT)):
        path = os.fsencode(root / name)
        with pytest.raises(ObstacleError) as caught, open_parent(path + b"/x/y"):
            pass
        assert (caught.value.path, caught.value.kind) == (path, kind)
        sight = FileSystem().look(path + b"/x/y")
        assert (sight.obstacle, sight.blocked, sight.state.kind) == (path, kind, Kind.ABSENT)


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that any user may enter; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        Path(scratch).chmod(0o777)
        yield Path(scratch).resolve()


def as_nobody(work: Callable[[], bool]) -> bool:
    """Whether `work` says yes when an ordinary user does it."""
    if os.geteuid() != 0:
        return work()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.process
def test_an_ordinary_user_works_in_read_only_directories_of_their_own(public: Path) -> None:
    def work() -> bool:
        shut = public / "shut"
        (shut / "deep").mkdir(parents=True)
        (shut / "file").write_bytes(b"before")
        for path in (shut / "deep", shut):
            path.chmod(0o555)
        before = snapshot(public)
        for path in (shut, shut / "deep"):
            path.chmod(0o755)
        (shut / "file").write_bytes(b"after")
        (shut / "deep" / "created").write_bytes(b"created")
        for path in (shut / "deep", shut):
            path.chmod(0o555)
        after = snapshot(public)
        recorded = recording(before, after)
        recorded.undo()
        same = snapshot(public) == before
        recorded.restore()
        same_again = snapshot(public) == after
        for path in (shut, shut / "deep"):
            path.chmod(0o755)
        return same and same_again

    assert as_nobody(work)


@pytest.mark.process
def test_an_ordinary_user_does_not_touch_the_files_of_others(public: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a file of somebody else's")
    (public / "theirs").write_bytes(b"before")
    before = snapshot(public)
    (public / "theirs").write_bytes(b"after!")
    recorded = recording(before, snapshot(public))

    def work() -> bool:
        plan, _ = recorded.apply(Direction.UNDO, force=True)
        return [problem.why for problem in plan.impossible] == ["it belongs to another user (0)"]

    assert as_nobody(work)
    assert (public / "theirs").read_bytes() == b"after!"


def test_root_gives_files_links_and_directories_back_to_their_owners(public: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    (public / "directory").mkdir()
    (public / "file").write_bytes(b"file")
    (public / "link").symlink_to("file")
    for name in ("directory", "file", "link"):
        os.chown(public / name, NOBODY, NOBODY, follow_symlinks=False)
    (public / "file").chmod(0o4755)
    before = snapshot(public)
    (public / "directory").rmdir()
    (public / "file").unlink()
    (public / "link").unlink()
    recorded = recording(before, snapshot(public))
    recorded.undo()
    assert snapshot(public) == before
    assert stat.S_IMODE((public / "file").stat().st_mode) == 0o4755
