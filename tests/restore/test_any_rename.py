"""Whatever a run renames, undo and restore give exactly the trees of before and after, or change nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steno.restore.apply import carry_out
from steno.restore.tasks import Direction, User
from support.renaming_recorder import Recorder
from support.snapshots import Recording, Snapshot, new_trash, snapshot, without_directory_times

PATHS = st.sampled_from(["a", "b", "c", "a/a", "a/b", "b/a", "c/c", "a/a/a"])
DOINGS = st.one_of(
    st.tuples(st.just("mkdir"), PATHS, PATHS),
    st.tuples(st.just("write"), PATHS, PATHS),
    st.tuples(st.just("remove"), PATHS, PATHS),
    *[st.tuples(st.just(word), PATHS, PATHS) for word in ("rename", "rename", "exchange")],
)
RUNS = st.lists(DOINGS, min_size=1, max_size=8)


def do(run: Recorder, root: Path, number: int, doing: tuple[str, str, str]) -> None:
    """One thing that a command may do; what the kernel would refuse is not tried."""
    word, path, other = doing[0], root / doing[1], root / doing[2]
    nested = path == other or path in other.parents or other in path.parents
    match word:
        case "mkdir" if not path.exists() and path.parent.is_dir():
            run.mkdir(path)
        case "write" if not path.is_dir() and path.parent.is_dir():
            run.write(path, f"content number {number}".encode())
        case "remove" if path.exists():
            remove(run, path)
        case "rename" if path.exists() and other.parent.is_dir() and not nested:
            if not other.exists() or (path.is_file() and other.is_file()):
                run.rename(path, other)
        case "exchange" if path.exists() and other.exists() and not nested:
            run.exchange(path, other)


def remove(run: Recorder, path: Path) -> None:
    if path.is_dir():
        for below in sorted(path.iterdir()):
            remove(run, below)
        run.rmdir(path)
    else:
        run.unlink(path)


@contextmanager
def recorded_run(
    earlier: list[tuple[str, str, str]], doings: list[tuple[str, str, str]]
) -> Iterator[tuple[Path, Snapshot, Snapshot, Recording]]:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "root"
        for name in ("a/a", "b"):
            (root / name).mkdir(parents=True)
        for number, name in enumerate(("a/file", "a/a/file", "b/file", "b/a")):
            (root / name).write_bytes(b"first" * number)
        for number, doing in enumerate(earlier):
            do(Recorder(root), root, -number, doing)
        run = Recorder(root, lists=True)
        run.see(root, "directory")
        for number, doing in enumerate(doings):
            do(run, root, number, doing)
        recorded, after = run.end()
        yield root, run.before, after, recorded


def check(recorded: Recording, direction: Direction, root: Path, wanted: Snapshot) -> bool:
    """Whether it was done, and rightly; refused, nothing is changed."""
    at_first = snapshot(root)
    plan, failed = recorded.apply(direction)
    assert not failed
    if not plan.is_clear:
        assert snapshot(root) == at_first
        return False
    assert without_directory_times(snapshot(root)) == without_directory_times(wanted)
    return True


@given(st.lists(DOINGS, max_size=3), RUNS)
def test_undo_then_restore_give_the_trees_of_before_and_after_or_refuse(
    earlier: list[tuple[str, str, str]], doings: list[tuple[str, str, str]]
) -> None:
    with recorded_run(earlier, doings) as (root, before, after, recorded):
        if check(recorded, Direction.UNDO, root, before):
            assert check(recorded, Direction.UNDO, root, before)
            if check(recorded, Direction.RESTORE, root, after):
                assert check(recorded, Direction.RESTORE, root, after)


@given(st.lists(DOINGS, max_size=3), RUNS)
def test_without_any_content_what_was_moved_is_moved_back_or_nothing_is_done_and_nothing_is_ever_lost(
    earlier: list[tuple[str, str, str]], doings: list[tuple[str, str, str]]
) -> None:
    with recorded_run(earlier, doings) as (root, before, _, recorded):
        for file in recorded.files["files"]:
            for state in (file["before"], file["after"]):
                if state.pop("blob", None):
                    state["content"] = "too_large"
        since = contents(root)
        if check(recorded, Direction.UNDO, root, before):
            return
        plan, trash = recorded.plan(Direction.UNDO, force=True), new_trash()
        carry_out(plan, recorded.contents, User.of_this_process(), trash)
        places = [Path(os.fsdecode(place)) for place in trash.places]
        assert since <= contents(root, *places)


def contents(*places: Path) -> set[bytes]:
    return {path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}
