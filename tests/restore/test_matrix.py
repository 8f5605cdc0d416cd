"""Every kind of thing before a run, every kind after it: undo gives the one, restore the other."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from steno.restore.tasks import Direction
from support.cases import cases
from support.snapshots import Snapshot, recording, snapshot, without_directory_times

OLD_NS = 1_700_000_000_123_456_789


def absent(path: Path) -> None:
    """Nothing is there."""


def file(path: Path) -> None:
    path.write_bytes(b"content\n" + path.parent.name.encode())
    path.chmod(0o640)
    os.utime(path, ns=(OLD_NS, OLD_NS + 1))


def other_file(path: Path) -> None:
    path.write_bytes(b"another content\n")
    path.chmod(0o755)


def empty_file(path: Path) -> None:
    path.touch(0o600)
    os.utime(path, ns=(OLD_NS, OLD_NS))


def directory(path: Path) -> None:
    path.mkdir()
    path.chmod(0o711)
    os.utime(path, ns=(OLD_NS, OLD_NS + 2))


def full_directory(path: Path) -> None:
    path.mkdir()
    (path / "deeper").mkdir()
    file(path / "file")
    file(path / "deeper" / "file")
    (path / "deeper" / "link").symlink_to("../file")
    path.chmod(0o2750)
    os.utime(path / "deeper", ns=(OLD_NS, OLD_NS + 3))


def read_only_directory(path: Path) -> None:
    full_directory(path)
    (path / "deeper").chmod(0o555)
    path.chmod(0o555)


def link(path: Path) -> None:
    path.symlink_to("beside")
    os.utime(path, ns=(OLD_NS, OLD_NS + 4), follow_symlinks=False)


def link_to_a_directory(path: Path) -> None:
    path.symlink_to("elsewhere")


def dangling_link(path: Path) -> None:
    path.symlink_to(b"no/such\xff\nplace")


KINDS = [
    absent,
    file,
    other_file,
    empty_file,
    directory,
    full_directory,
    read_only_directory,
    link,
    link_to_a_directory,
    dangling_link,
]
Kind = Callable[[Path], None]


def furnish(place: Path) -> Path:
    (place / "elsewhere" / "deeper").mkdir(parents=True)
    (place / "elsewhere" / "file").write_bytes(b"elsewhere")
    (place / "beside").write_bytes(b"beside")
    return place


def clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for folder in [
            path,
            *(below for below in path.rglob("*") if below.is_dir() and not below.is_symlink()),
        ]:
            folder.chmod(0o700)  # only root may empty one that is read-only
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("before", KINDS, ids=lambda kind: kind.__name__)
def test_undo_and_restore_go_between_any_two_states_and_a_dry_run_changes_nothing(
    tmp_path: Path, before: Kind
) -> None:
    with cases() as case:
        for after in KINDS:
            root = furnish(tmp_path / after.__name__)
            with case(after.__name__):
                before(root / "x")
                at_first = snapshot(root)
                clear(root / "x")
                after(root / "x")
                at_last = snapshot(root)
                recorded = recording(at_first, at_last)
                plan = recorded.plan(Direction.UNDO)
                assert plan.is_clear
                assert bool(plan.steps) == (at_first != at_last)
                assert snapshot(root) == at_last
                recorded.undo()
                assert snapshot(root) == at_first
                assert not recorded.plan(Direction.UNDO).steps
                recorded.restore()
                assert snapshot(root) == at_last
                assert not recorded.plan(Direction.RESTORE).steps
                recorded.undo()
                assert snapshot(root) == at_first


@pytest.mark.parametrize("before", [absent, file, full_directory, link], ids=lambda kind: kind.__name__)
def test_what_was_put_there_since_is_never_lost_unasked(tmp_path: Path, before: Kind) -> None:
    with cases() as case:
        for after, now in itertools.product(KINDS, KINDS):
            name = f"{after.__name__}-{now.__name__}"
            with case(name):
                nothing_is_lost_unasked(furnish(tmp_path / name), before, after, now)


def nothing_is_lost_unasked(root: Path, before: Kind, after: Kind, now: Kind) -> None:
    before(root / "x")
    at_first = snapshot(root)
    clear(root / "x")
    after(root / "x")
    at_last = snapshot(root)
    recorded = recording(at_first, at_last)
    clear(root / "x")
    now(root / "x")
    since = snapshot(root)
    plan, _ = recorded.apply(Direction.UNDO)
    left = snapshot(root)
    if plan.conflicts:
        assert left == since
    else:
        for path, state in since.items():
            assert substance(left, path) == substance(since, path) or substance(since, path) in (
                substance(at_first, path),
                substance(at_last, path),
            ), state
    plan, failed = recorded.apply(Direction.UNDO, force=True)
    assert not failed
    if plan.is_clear:
        at_first, at_last, left = map(without_directory_times, (at_first, at_last, snapshot(root)))
        changed = {path for path in at_first | at_last if at_first.get(path) != at_last.get(path)}
        assert all(left.get(path) == at_first.get(path) for path in changed)


def substance(found: Snapshot, path: bytes) -> object:
    """What would be a loss."""
    state = found.get(path, {"type": "absent"})
    return state["type"], state.get("data"), state.get("target")
