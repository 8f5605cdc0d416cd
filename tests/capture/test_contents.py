"""Copies of files at the end of a run: whole, or with the reason why not; never of something else."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.capture import paths
from steno.capture.paths import Contents, Copy, Directories, FileState, recorded_paths
from steno.evidence.ignore_rules import IgnoreRules
from support.looks import first_look

LARGEST = 1 << 20


@pytest.fixture
def copier() -> Iterator[Contents]:
    with Directories() as directories:
        yield Contents(directories, LARGEST)


def seen(path: Path) -> FileState:
    found = recorded_paths({os.fsencode(path): first_look(path, "read")}, IgnoreRules(()), Path("/no/store"))
    state = found[os.fsencode(path)].state
    assert state is not None
    return state


def copied(copier: Contents, path: Path, state: FileState | None = None) -> Copy:
    return copier.copy(os.fsencode(path), state or seen(path))


@pytest.mark.parametrize(
    "data", [b"", b"x", bytes(range(256)) * 4096], ids=["empty", "small", "as large as can be"]
)
def test_a_file_is_copied_whole(tmp_path: Path, copier: Contents, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    assert copied(copier, tmp_path / "file") == Copy(data)


def test_a_large_file_is_not_read(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    assert copied(copier, path) == Copy(None, "too_large")


def test_the_time_of_access_stays_as_it_was(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    os.utime(path, ns=(1, path.stat().st_mtime_ns))
    copied(copier, path)
    assert path.stat().st_atime_ns == 1


def test_a_file_that_grows_is_cut_at_the_size_that_was_seen(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"line\n")
    state = seen(path)
    with path.open("ab") as file:
        file.write(b"more\n")
    assert copied(copier, path, state) == Copy(b"line\n", "changing")


def test_a_file_that_grows_for_ever_ends(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(1000))
    enough, grown = threading.Event(), threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not enough.is_set():
                file.write(bytes(4096))
                grown.set()

    state = seen(path)
    writer = threading.Thread(target=grow)
    writer.start()
    grown.wait()
    try:
        assert copied(copier, path, state) == Copy(bytes(1000), "changing")
    finally:
        enough.set()
        writer.join()


def test_a_file_that_shrinks_is_marked(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"long content")
    state = seen(path)
    os.truncate(path, 4)
    assert copied(copier, path, state) == Copy(b"long", "changing")


def test_a_file_replaced_by_another_is_not_read(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    state = seen(path)
    (tmp_path / "other").write_text("not mine")
    (tmp_path / "other").rename(path)
    assert copied(copier, path, state) == Copy(None, "changing")


def test_a_fifo_put_in_its_place_is_not_opened(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    state = seen(path)
    path.unlink()
    os.mkfifo(path)
    assert copied(copier, path, state) == Copy(None, "changing")


def test_a_link_put_in_its_place_is_not_followed(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    state = seen(path)
    path.rename(tmp_path / "moved")
    path.symlink_to("moved")
    assert copied(copier, path, state) == Copy(None, "changing")


def test_a_link_put_in_place_of_its_directory_is_not_followed(tmp_path: Path, copier: Contents) -> None:
    (tmp_path / "dir").mkdir()
    path = tmp_path / "dir" / "file"
    path.write_text("x")
    state = seen(path)
    (tmp_path / "dir").rename(tmp_path / "moved")
    (tmp_path / "dir").symlink_to("moved")
    assert copied(copier, path, state) == Copy(None, "unreadable")


def test_a_file_that_is_gone_is_marked(tmp_path: Path, copier: Contents) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    state = seen(path)
    path.unlink()
    assert copied(copier, path, state) == Copy(None, "changing")


@pytest.mark.skipif(os.geteuid() != 0, reason="of what belongs to others nothing is kept for a user")
def test_what_the_kernel_makes_up_is_not_read(copier: Contents) -> None:
    assert copied(copier, Path("/proc/version")) == Copy(None, "unreadable")


def test_a_file_that_may_not_be_read_is_unreadable(
    tmp_path: Path, copier: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    state = seen(tmp_path / "file")

    def refuse(probe: int) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(paths, "_reopened", refuse)
    assert copied(copier, tmp_path / "file", state) == Copy(None, "unreadable")


def test_no_descriptor_is_left_open(tmp_path: Path, copier: Contents) -> None:
    (tmp_path / "file").write_text("x")
    state = seen(tmp_path / "file")
    copied(copier, tmp_path / "file", state)
    gc.collect()  # what other tests have left is not closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        copied(copier, tmp_path / "file", state)
        copied(copier, tmp_path / "none", state)
    assert len(os.listdir("/proc/self/fd")) == before
