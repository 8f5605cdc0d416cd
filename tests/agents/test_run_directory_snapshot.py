"""Looking at the files of a run directory."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

import pytest

from steno.bundle.folder import BLOCK, Folder
from steno.contracts.agent_audit.changes import Snapshot
from steno.launch import snapshot
from steno.launch.snapshot import CHANGED_WHILE_READ, ScannedFiles


def look(path: Path) -> Snapshot:
    return look_again(path, ScannedFiles({})).files


def look_again(path: Path, earlier: ScannedFiles) -> ScannedFiles:
    with Folder(path) as folder:
        return snapshot.look(folder, earlier=earlier)


def failing(monkeypatch: pytest.MonkeyPatch, name: str, error: OSError) -> None:
    """Opening that name fails, whoever runs the tests."""
    really_open = os.open

    def opened(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == name:
            raise error
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opened)


def test_size_time_and_digest_of_every_regular_file_are_told(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_bytes(b"content")
    os.utime(tmp_path / "d" / "e" / "f", ns=(0, 1_700_000_000_123_456_789))
    state = look(tmp_path)["d/e/f"]
    assert (state.size, state.mtime_ms) == (7, 1_700_000_000_123)
    assert state.sha256 == hashlib.sha256(b"content").hexdigest()


def test_a_large_file_is_hashed_in_blocks(tmp_path: Path) -> None:
    data = os.urandom(BLOCK * 2 + 17)
    (tmp_path / "large").write_bytes(data)
    state = look(tmp_path)["large"]
    assert (state.size, state.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_only_the_audit_folder_at_the_top_is_left_out(tmp_path: Path) -> None:
    for folder in (".audit", "d/.audit", ".audit-of-mine"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "f").write_bytes(b"")
    assert list(look(tmp_path)) == [".audit-of-mine/f", "d/.audit/f"]


def test_links_fifos_and_sockets_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f").write_bytes(b"")
    run = tmp_path / "run"
    run.mkdir()
    (run / "file-link").symlink_to(tmp_path / "outside" / "f")
    (run / "folder-link").symlink_to(tmp_path / "outside")
    (run / "loop").symlink_to("loop")
    os.mkfifo(run / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(run / "socket"))
        for name in ("fifo", "socket", "file-link", "folder-link", "loop"):
            failing(monkeypatch, name, PermissionError(13, "it was opened"))
        assert look(run) == {}


def test_names_that_are_not_utf8_are_spelled(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xff"))).mkdir()
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xff/\xfe"))).write_bytes(b"")
    (tmp_path / r"d\xff").write_bytes(b"")
    assert list(look(tmp_path)) == [r"d\x5cxff", r"d\xff/\xfe"]


def test_a_deep_tree_does_not_stop_it(tmp_path: Path) -> None:
    deep = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=deep))
    os.close(deep)
    assert list(look(tmp_path)) == ["d/" * 300 + "f"]


def test_a_file_that_vanishes_before_it_is_read_was_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"")
    failing(monkeypatch, "a", FileNotFoundError(2, "gone"))
    assert list(look(tmp_path)) == ["b"]


def test_a_file_that_cannot_be_read_is_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"secret")
    failing(monkeypatch, "a", PermissionError(13, "no"))
    state = look(tmp_path)["a"]
    assert (state.size, state.sha256, state.error) == (6, None, "EACCES")


def test_a_directory_that_cannot_be_looked_into_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    failing(monkeypatch, "d", PermissionError(13, "no"))
    assert [(path, state.error) for path, state in look(tmp_path).items()] == [("d/", "EACCES")]


def test_a_file_that_becomes_a_fifo_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"")
    seen = (tmp_path / "a").stat()
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    really_stat = os.stat

    def stale(path: str, **where: object) -> os.stat_result:
        return seen if path == "a" else really_stat(path, **where)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", stale)
    assert look(tmp_path) == {}


def changing(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
    """Somebody writes to the file so many times, each time when it is about to be read."""
    really_read, left = os.read, [times]

    def read(fd: int, size: int) -> bytes:
        if left[0]:
            left[0] -= 1
            path.write_bytes(path.read_bytes() + b"more")
        return really_read(fd, size)

    monkeypatch.setattr(os, "read", read)


def test_a_file_that_is_written_to_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_bytes(b"some")
    changing(monkeypatch, tmp_path / "log", 1)
    state = look(tmp_path)["log"]
    assert (state.size, state.sha256) == (8, hashlib.sha256(b"somemore").hexdigest())


def test_a_file_that_never_rests_is_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log").write_bytes(b"some")
    changing(monkeypatch, tmp_path / "log", 99)
    found = look_again(tmp_path, ScannedFiles({}))
    assert (found.files["log"].sha256, found.files["log"].error) == (None, CHANGED_WHILE_READ)
    assert found.told == "1 file, 1 of them not to be read"


def test_a_file_that_is_the_same_to_the_kernel_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "AT_REST_NS", 0)
    (tmp_path / "a").write_bytes(b"one")
    first = look_again(tmp_path, ScannedFiles({}))
    failing(monkeypatch, "a", PermissionError(13, "it was opened"))
    assert look_again(tmp_path, first) == first


def test_a_change_that_hides_behind_size_and_time_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "AT_REST_NS", 0)
    (tmp_path / "a").write_bytes(b"one")
    before = (tmp_path / "a").stat()
    first = look_again(tmp_path, ScannedFiles({}))
    while (tmp_path / "a").stat().st_ctime_ns == before.st_ctime_ns:
        (tmp_path / "a").write_bytes(b"two")
    os.utime(tmp_path / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert look_again(tmp_path, first).files["a"].sha256 == hashlib.sha256(b"two").hexdigest()


def test_a_file_that_was_young_when_it_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "AT_REST_NS", 10**12)
    (tmp_path / "a").write_bytes(b"one")
    first = look_again(tmp_path, ScannedFiles({}))
    failing(monkeypatch, "a", PermissionError(13, "it was opened"))
    assert look_again(tmp_path, first).files["a"].error == "EACCES"
