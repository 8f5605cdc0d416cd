"""Whatever a run does to a tree, undo gives exactly the tree of before; restore, the one of after."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steno.restore.apply import apply_steps
from steno.restore.tasks import Direction, User
from support.snapshots import Recording, Snapshot, new_trash, recording, snapshot, without_directory_times

NAMES = st.sampled_from([b"a", b"b", b"c", b"\xff\xfe", b"new\nline", b".steno-not-ours"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
CONTENTS = st.sampled_from([b"", b"one", b"two", b"three\0" * 1000])
# What is closed to its owner, an ordinary user cannot look at, these tests no more than undo.
OPEN_TO_ITS_OWNER = [0o755, 0o4755, 0o1777]
MODES = st.sampled_from(OPEN_TO_ITS_OWNER + ([0o600, 0o644, 0o000, 0o444] if os.geteuid() == 0 else []))
TIMES = st.sampled_from([0, 1, 1_700_000_000_000_000_001, -5_000_000_000])
DOINGS = st.one_of(
    st.tuples(st.just("write"), PATHS, CONTENTS),
    st.tuples(st.just("mkdir"), PATHS),
    st.tuples(st.just("symlink"), PATHS, PATHS),
    st.tuples(st.just("remove"), PATHS),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("link"), PATHS, PATHS),
    st.tuples(st.just("chmod"), PATHS, MODES),
    st.tuples(st.just("touch"), PATHS, TIMES),
)


def do(root: Path, doing: tuple[object, ...]) -> None:
    """One thing that a command may do; what the kernel refuses is refused."""
    word, *rest = doing
    path, other = (root / os.fsdecode(item) if isinstance(item, bytes) else root for item in (*rest, 0)[:2])
    if any(above.is_symlink() for name in (path, other) for above in name.parents):
        return
    with suppress(OSError, shutil.Error):
        match word, rest[1:]:
            case "write", [bytes() as content]:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            case "mkdir", _:
                path.mkdir(parents=True)
            case "symlink", [bytes() as target]:
                path.symlink_to(os.fsdecode(target))
            case "remove", _:
                remove(path)
            case "rename", _:
                path.rename(other)
            case "link", _:
                other.hardlink_to(path)
            case "chmod", [int() as mode] if not path.is_symlink():
                path.chmod(mode)
            case "touch", [int() as ns]:
                os.utime(path, ns=(ns, ns), follow_symlinks=False)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


@contextmanager
def recorded_run(
    earlier: list[tuple[object, ...]], run: list[tuple[object, ...]]
) -> Iterator[tuple[Path, Snapshot, Snapshot, Recording]]:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "root"
        root.mkdir()
        for doing in earlier:
            do(root, doing)
        before = snapshot(root)
        for doing in run:
            do(root, doing)
        after = snapshot(root)
        yield root, before, after, recording(before, after)


@given(st.lists(DOINGS, max_size=12), st.lists(DOINGS, max_size=12))
def test_undo_then_restore_gives_the_trees_of_before_and_after(
    earlier: list[tuple[object, ...]], run: list[tuple[object, ...]]
) -> None:
    with recorded_run(earlier, run) as (root, before, after, recorded):
        recorded.undo()
        assert snapshot(root) == before
        recorded.restore()
        assert snapshot(root) == after


@given(st.lists(DOINGS, max_size=8), st.lists(DOINGS, max_size=8), st.data())
def test_an_undo_that_was_killed_is_completed_by_the_next(
    earlier: list[tuple[object, ...]], run: list[tuple[object, ...]], data: st.DataObject
) -> None:
    with recorded_run(earlier, run) as (root, before, _, recorded):
        steps = recorded.plan(Direction.UNDO).steps
        until = data.draw(st.integers(0, len(steps)))
        assert not apply_steps(steps[:until], recorded.contents, User.of_this_process(), new_trash())
        recorded.undo()
        assert without_directory_times(snapshot(root)) == without_directory_times(before)


@given(st.lists(DOINGS, max_size=8), st.lists(DOINGS, max_size=8), st.lists(DOINGS, min_size=1, max_size=4))
def test_what_changed_after_the_run_stops_the_undo_or_outlives_it(
    earlier: list[tuple[object, ...]], run: list[tuple[object, ...]], later: list[tuple[object, ...]]
) -> None:
    with recorded_run(earlier, run) as (root, before, after, recorded):
        for doing in later:
            do(root, doing)
        since = snapshot(root)
        plan, failed = recorded.apply(Direction.UNDO)
        assert not failed
        left = snapshot(root)
        if not plan.is_clear:
            assert left == since
            return
        for path, state in since.items():
            data = state.get("data")
            known = [found[path].get("data") for found in (before, after) if path in found]
            assert left.get(path, {}).get("data") == data or data in known
