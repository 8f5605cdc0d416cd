"""Private directories: in memory when there is memory to be had, and removed only when they are ours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from steno.capture import tmpfs
from steno.capture.tmpfs import PREFIX, make_shadow, memory_directories, remove_shadow

if TYPE_CHECKING:
    from pathlib import Path

needs_memory = pytest.mark.skipif(not memory_directories(), reason="no file system in memory here")


@needs_memory
def test_a_shadow_lies_in_memory_and_is_private(tmp_path: Path) -> None:
    path, notes = make_shadow(tmp_path)
    try:
        assert path.parent in memory_directories()
        assert path.stat().st_mode & 0o777 == 0o700
        assert notes == ()
        assert list(tmp_path.iterdir()) == []
    finally:
        assert remove_shadow(path)
    assert not path.exists()


def test_without_memory_the_fallback_is_used_and_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tmpfs, "memory_directories", lambda: ())
    fallback = tmp_path / "not" / "yet"
    path, notes = make_shadow(fallback)
    assert path.parent == fallback
    assert path.stat().st_mode & 0o777 == 0o700
    assert len(notes) == 1
    assert not remove_shadow(path)
    assert remove_shadow(path, fallback=fallback)
    assert not path.exists()


def test_a_full_memory_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmpfs, "room_in", lambda _: 0)
    path, notes = make_shadow(tmp_path)
    assert path.parent == tmp_path
    assert notes


def test_a_runtime_directory_on_disk_does_not_count_as_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    mounts = tmp_path / "mounts"
    mounts.write_text("21 1 254:0 / / rw - ext4 /dev/x rw\n")
    monkeypatch.setattr(tmpfs, "_MOUNTS", mounts)
    assert memory_directories() == ()


def test_what_is_gone_already_counts_as_removed(tmp_path: Path) -> None:
    assert remove_shadow(tmp_path / f"{PREFIX}gone", fallback=tmp_path)


def test_a_directory_of_another_name_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "precious"
    other.mkdir(mode=0o700)
    assert not remove_shadow(other, fallback=tmp_path)
    assert other.exists()


def test_a_directory_in_another_place_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / f"{PREFIX}x"
    other.mkdir(parents=True, mode=0o700)
    assert not remove_shadow(other, fallback=tmp_path)
    assert other.exists()


def test_a_path_that_climbs_out_of_the_fallback_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fallback").mkdir()
    other = tmp_path / f"{PREFIX}x"
    other.mkdir(mode=0o700)
    assert not remove_shadow(tmp_path / "fallback" / ".." / f"{PREFIX}x", fallback=tmp_path / "fallback")
    assert other.exists()


def test_a_directory_open_to_others_is_refused(tmp_path: Path) -> None:
    other = tmp_path / f"{PREFIX}x"
    other.mkdir()
    other.chmod(0o755)
    assert not remove_shadow(other, fallback=tmp_path)
    assert other.exists()


def test_a_link_to_a_directory_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    link = tmp_path / f"{PREFIX}x"
    link.symlink_to(target)
    assert not remove_shadow(link, fallback=tmp_path)
    assert target.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    other = tmp_path / f"{PREFIX}x"
    other.mkdir(mode=0o700)
    os.chown(other, 12345, 12345)
    assert not remove_shadow(other, fallback=tmp_path)
    assert other.exists()
