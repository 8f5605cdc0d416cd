"""The cgroup of a run: found from the kernel's tables, made, asked who is in it, and removed."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.capture import cgroup
from steno.capture.cgroup import (
    CleanupResult,
    Hierarchy,
    Refusal,
    Scope,
    find_hierarchy,
    make_scope,
    process_names,
    remove_leftovers,
    sweep_beside,
)
from support.cgroups import MOUNT, left_by, needs_scope, new_run_id
from support.waiting import SECONDS, until

UNIFIED = b"31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = (
    b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    b"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    b"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)


@pytest.fixture
def run_id() -> str:
    """Another one for each test: others may run beside it."""
    return new_run_id()


@pytest.fixture
def scope(run_id: str) -> Iterator[Scope]:
    made = make_scope(run_id)
    assert isinstance(made, Scope)
    yield made
    made.end()
    made.close()
    assert left_by(run_id) == []


def born_in(scope: Scope, *below: str) -> subprocess.Popen[bytes]:
    place = Path(f"{MOUNT}/{scope.path}", *below)
    process = subprocess.Popen(["sleep", "60"])
    comm = Path(f"/proc/{process.pid}/comm")
    until(lambda: comm.read_text() == "sleep\n")  # Popen returns a moment before the kernel has renamed it
    (place / "cgroup.procs").write_text(str(process.pid))
    return process


@pytest.mark.parametrize(
    ("mounts", "own", "found"),
    [
        (UNIFIED, b"0::/user.slice/a\n", Hierarchy("unified", Path("/sys/fs/cgroup"), "/user.slice/a")),
        (HYBRID, b"4:memory:/x\n0::/\n", Hierarchy("hybrid", Path("/sys/fs/cgroup/unified"), "/")),
        (
            b"9 8 0:1 /docker/abc /mnt/my\\040cgroups rw - cgroup2 none rw\n",
            b"0::/docker/abc/sub\n",
            Hierarchy("unified", Path("/mnt/my cgroups"), "/sub"),
        ),
    ],
    ids=["unified", "hybrid", "part of a hierarchy"],
)
def test_the_hierarchy_is_found(mounts: bytes, own: bytes, found: Hierarchy) -> None:
    assert find_hierarchy(mounts, own) == found


@pytest.mark.parametrize(
    ("mounts", "own"),
    [
        (b"", b"0::/\n"),
        (UNIFIED, b"4:memory:/x\n"),
        (UNIFIED.replace(b" / ", b" /docker/abc ", 1), b"0::/docker/abcdef\n"),
        (UNIFIED, b"0::/../../elsewhere\n"),
    ],
    ids=["no mount", "no second version", "beside the mount", "outside of our namespace"],
)
def test_without_a_hierarchy_of_ours_the_reason_is_told(mounts: bytes, own: bytes) -> None:
    found = find_hierarchy(mounts, own)
    assert isinstance(found, Refusal)
    assert found.reason == "no_cgroup2_mount"


@given(st.binary(max_size=300), st.binary(max_size=60))
def test_any_bytes_are_a_hierarchy_or_a_refusal(mounts: bytes, own: bytes) -> None:
    found = find_hierarchy(UNIFIED + mounts, b"0::/" + own)
    assert isinstance(found, Hierarchy | Refusal)
    assert isinstance(find_hierarchy(mounts, own), Hierarchy | Refusal)


@pytest.mark.parametrize(
    ("number", "reason"), [(13, "not_permitted"), (1, "not_permitted"), (30, "read_only"), (11, "failed")]
)
@needs_scope
def test_a_refusal_of_the_kernel_has_a_fixed_word(
    number: int, reason: str, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "mkdir", refuse)
    refused = make_scope(run_id)
    assert isinstance(refused, Refusal)
    assert refused.reason == reason


def test_where_there_is_no_proc_there_is_no_scope(
    run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "MOUNTS", tmp_path / "none")
    refused = make_scope(run_id)
    assert isinstance(refused, Refusal)
    assert refused.reason == "not_linux"


@needs_scope
def test_a_new_scope_is_empty_and_removed_at_its_end(scope: Scope, run_id: str) -> None:
    assert scope.path.endswith(f"/steno-{run_id}")
    assert Path(f"{MOUNT}/{scope.path}").stat().st_ino == scope.cgroup_id
    assert not scope.populated()
    assert scope.end() == ([], True)
    assert not Path(f"{MOUNT}/{scope.path}").exists()


@needs_scope
def test_a_second_end_finds_nothing(scope: Scope) -> None:
    scope.end()
    assert not scope.populated()
    assert scope.end() == ([], True)


@needs_scope
def test_who_is_left_is_told_and_goes_back_to_where_it_would_have_been(scope: Scope) -> None:
    process = born_in(scope)
    try:
        assert scope.populated()
        left = scope.end()
        assert left == ([process.pid], True)
        assert process_names(left.processes) == [(process.pid, "sleep")]
        own = Path("/proc/self/cgroup").read_text().splitlines()[-1]
        assert Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()[-1] == own
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@needs_scope
def test_the_end_of_the_last_process_wakes_who_waits(scope: Scope) -> None:
    process = born_in(scope)
    poller = select.poll()
    poller.register(*scope.changes)
    assert scope.populated()
    assert poller.poll(0) == []
    process.kill()
    process.wait()
    assert poller.poll(SECONDS * 1000)
    assert not scope.populated()


@needs_scope
def test_cgroups_that_the_command_made_are_removed_with_it(scope: Scope) -> None:
    place = Path(f"{MOUNT}/{scope.path}")
    (place / "a" / "b").mkdir(parents=True)
    (place / "c").mkdir()
    assert scope.end() == ([], True)


@needs_scope
def test_a_process_in_a_cgroup_that_the_command_made_stays_there_and_is_told(scope: Scope) -> None:
    place = Path(f"{MOUNT}/{scope.path}", "own")
    place.mkdir()
    process = born_in(scope, "own")
    try:
        assert scope.end() == ([process.pid], False)
    finally:
        process.kill()
        process.wait()
    until(lambda: not scope.populated())


@needs_scope
def test_a_very_deep_nest_is_left_and_told_and_never_a_failure(scope: Scope) -> None:
    deepest = Path(f"{MOUNT}/{scope.path}", *(["d"] * (cgroup.MAX_DEPTH + 3)))
    deepest.mkdir(parents=True)
    assert scope.end() == ([], False)
    while deepest.name == "d":
        deepest.rmdir()
        deepest = deepest.parent


@needs_scope
def test_a_scope_in_use_is_no_leftover(scope: Scope, run_id: str) -> None:
    (found,) = remove_leftovers(run_id)
    assert (found.path, found.done) == (scope.path, CleanupResult.IN_USE)
    assert Path(f"{MOUNT}/{scope.path}").exists()


@needs_scope
def test_a_leftover_is_removed_once_its_processes_have_ended(run_id: str) -> None:
    made = make_scope(run_id)
    assert isinstance(made, Scope)
    process = born_in(made)
    made.close()  # as the end of a recorder does
    (found,) = remove_leftovers(run_id)
    assert (found.done, found.says) == (CleanupResult.IN_USE, "has processes; it is left to them")
    process.kill()
    process.wait()
    (found,) = remove_leftovers(run_id)
    assert (found.path, found.done) == (made.path, CleanupResult.REMOVED)
    assert list(remove_leftovers(run_id)) == []


@needs_scope
def test_whoever_records_next_removes_what_a_dead_recorder_left_and_nothing_that_is_used(
    scope: Scope, run_id: str
) -> None:
    other = make_scope(new_run_id())
    assert isinstance(other, Scope)
    other.close()  # as the end of a recorder does
    sweep_beside()
    assert not Path(f"{MOUNT}/{other.path}").exists()
    assert Path(f"{MOUNT}/{scope.path}").exists()
    assert scope.path.endswith(run_id)


@needs_scope
def test_a_leftover_in_a_leftover_is_found(run_id: str) -> None:
    made = make_scope(run_id)
    assert isinstance(made, Scope)
    inner = new_run_id()
    Path(f"{MOUNT}/{made.path}", f"steno-{inner}").mkdir()
    made.close()
    (found,) = remove_leftovers(inner)
    assert found.done is CleanupResult.REMOVED
    assert [one.done for one in remove_leftovers(run_id)] == [CleanupResult.REMOVED]


@needs_scope
@pytest.mark.parametrize("removed", [True, False])
def test_a_cgroup_that_is_taken_for_a_leftover_while_it_is_made_is_made_again(
    removed: bool, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock

    def late(fd: int, how: int) -> None:
        monkeypatch.undo()
        if not removed:
            raise BlockingIOError(errno.EWOULDBLOCK, "another has it")
        assert [one.done for one in remove_leftovers(run_id)] == [CleanupResult.REMOVED]
        real(fd, how)

    monkeypatch.setattr("steno.capture.cgroup.fcntl.flock", late)
    found = make_scope(run_id)
    assert fcntl.flock is real
    assert isinstance(found, Scope)
    assert found.end() == ([], True)
    found.close()
