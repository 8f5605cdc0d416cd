"""Folders: no link is followed, nothing special is read, nothing new is open to others."""

from __future__ import annotations

import gc
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steno.bundle.folder import Folder, NotRegularError

BAD_PATHS = ["", ".", "..", "/etc/passwd", "a/../b", "../a", "a//b", "a/", "./a", "a\0b", "a/b\0", "a/."]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with one file, beside one that it must not reach."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"outside")
    place = tmp_path / "place"
    (place / "sub").mkdir(parents=True)
    (place / "sub" / "file").write_bytes(b"inside")
    return place


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("path", BAD_PATHS)
def test_only_plain_relative_paths_are_taken(place: Path, path: str) -> None:
    with Folder(place) as folder:
        for operation in (
            folder.open,
            folder.create,
            folder.remove,
            folder.size,
            folder.make_folder,
            folder.sub,
        ):
            with pytest.raises(ValueError, match="plain relative path"):
                operation(path)
        with pytest.raises(ValueError, match="plain relative path"):
            list(folder.read(path))


def test_a_link_is_refused_at_every_level(place: Path) -> None:
    (place / "link").symlink_to("sub/file")
    (place / "linked-sub").symlink_to("sub")
    (place / "away").symlink_to("../outside")
    (place / "dangling").symlink_to("nowhere")
    with Folder(place) as folder:
        for path in ("link", "dangling"):
            for write in (False, True):
                with pytest.raises(NotRegularError):
                    folder.open(path, write=write)
            assert not folder.has(path)
        for path in ("linked-sub/file", "away/file"):
            with pytest.raises(NotADirectoryError):
                folder.open(path)
            assert not folder.has(path)
            with pytest.raises(NotADirectoryError):
                folder.create(f"{path}-new")
            with pytest.raises(NotADirectoryError):
                folder.remove(path)
        assert not folder.has_folder("linked-sub")
        with pytest.raises(NotADirectoryError):
            folder.sub("away")
    assert list((place.parent / "outside").iterdir()) == [place.parent / "outside" / "file"]


def test_creating_over_a_planted_link_does_not_follow_it(place: Path) -> None:
    (place / "planted").symlink_to(place.parent / "outside" / "new")
    with Folder(place) as folder, pytest.raises(FileExistsError):
        folder.create("planted")
    assert not (place.parent / "outside" / "new").exists()


def test_the_folder_itself_may_be_a_link_only_where_that_is_allowed(place: Path) -> None:
    link = place.parent / "link"
    link.symlink_to(place)
    with Folder(link) as folder:
        assert folder.has("sub/file")
    with pytest.raises(NotADirectoryError):
        Folder(link, follow=False)


@pytest.mark.timeout(60)
def test_a_fifo_is_refused_and_never_waited_for(place: Path) -> None:
    os.mkfifo(place / "fifo")
    with Folder(place) as folder:
        for write in (False, True):
            with pytest.raises(NotRegularError):
                folder.open("fifo", write=write)
        with pytest.raises(NotRegularError):
            folder.read_all("fifo", 10)
        assert not folder.has("fifo")
        assert not folder.has_folder("fifo")


def test_a_socket_a_device_and_a_directory_are_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)  # the name of a socket is short
    names = ["socket", "sub"]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        if os.geteuid() == 0:
            os.mknod(place / "device", stat.S_IFCHR | 0o600, os.makedev(1, 5))
            names.append("device")
        with Folder(place) as folder:
            for name in names:
                with pytest.raises(NotRegularError):
                    folder.open(name)
                assert not folder.has(name)


def test_new_files_and_directories_are_private_whatever_the_umask(place: Path) -> None:
    before = os.umask(0)
    try:
        with Folder(place) as folder:
            os.close(folder.create("a/b/file"))
            folder.make_folder("made")
    finally:
        os.umask(before)
    assert mode_of(place / "a") == mode_of(place / "a" / "b") == mode_of(place / "made") == 0o700
    assert mode_of(place / "a" / "b" / "file") == 0o600


def test_what_is_there_already_is_not_created_again(place: Path) -> None:
    with Folder(place) as folder, pytest.raises(FileExistsError):
        folder.create("sub/file")
    assert (place / "sub" / "file").read_bytes() == b"inside"


def test_a_file_longer_than_the_limit_is_not_held_in_memory(place: Path) -> None:
    with Folder(place) as folder:
        assert folder.read_all("sub/file", 6) == b"inside"
        with pytest.raises(OSError, match="longer than 5"):
            folder.read_all("sub/file", 5)


def test_reading_begins_where_it_is_told_to(place: Path) -> None:
    with Folder(place) as folder:
        assert b"".join(folder.read("sub/file", 2)) == b"side"
        assert list(folder.read("sub/file", 100)) == []


def test_removing_a_tree_removes_links_and_not_what_they_lead_to(place: Path) -> None:
    (place / "sub" / "away").symlink_to(place.parent / "outside")
    (place / "sub" / "away-file").symlink_to(place.parent / "outside" / "file")
    (place / "sub" / "deep").mkdir()
    os.mkfifo(place / "sub" / "deep" / "fifo")
    with Folder(place) as folder:
        folder.remove_tree("sub")
    assert not (place / "sub").exists()
    assert (place.parent / "outside" / "file").read_bytes() == b"outside"


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o300])
def test_a_tree_is_removed_also_where_its_rights_were_taken_away(place: Path, mode: int) -> None:
    for path in ("sub/shut", "sub/shut/inner", "sub/shut/inner/deep"):
        (place / path).mkdir()
        (place / path / "file").write_bytes(b"x")
    for path in ("sub/shut/inner/deep", "sub/shut/inner", "sub/shut"):
        (place / path).chmod(mode)
    with as_nobody(place), Folder(place) as folder:
        assert any(entry.path.startswith("sub/shut") for entry in folder.entries())
        folder.remove_tree("sub")
    assert not (place / "sub").exists()


@contextmanager
def as_nobody(place: Path) -> Iterator[None]:
    """Root may do everything, so root becomes somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    for path in (place, *place.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    shut = {one: one.stat().st_mode for one in place.parents if not one.stat().st_mode & 0o001}
    for one, mode in shut.items():
        one.chmod(mode | 0o001)
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        for one, mode in shut.items():
            one.chmod(mode)


def test_removing_a_tree_that_is_itself_a_link_removes_the_link(place: Path) -> None:
    (place / "away").symlink_to(place.parent / "outside")
    with Folder(place) as folder:
        folder.remove_tree("away")
    assert not (place / "away").is_symlink()
    assert (place.parent / "outside" / "file").exists()


def test_everything_below_is_listed_also_what_is_empty_special_or_deep(place: Path) -> None:
    (place / "empty").mkdir()
    (place / "link").symlink_to("sub")
    os.mkfifo(place / "sub" / "fifo")
    deep = place.joinpath(*(["deep"] * 30))
    deep.mkdir(parents=True)
    with Folder(place) as folder:
        found = {entry.path: (entry.regular, entry.size) for entry in folder.entries()}
    assert found["sub/file"] == (True, 6)
    assert found["empty"] == (False, 0)
    assert not found["link"][0]
    assert not found["sub/fifo"][0]
    (too_deep,) = [path for path in found if path.startswith("deep")]
    assert not found[too_deep][0]
    assert too_deep.count("/") < 10


def test_a_closed_folder_can_be_closed_again(place: Path) -> None:
    folder = Folder(place)
    folder.close()
    folder.close()


def test_no_descriptor_is_left_open(place: Path) -> None:
    gc.collect()  # what other tests have left is not closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    (place / "link").symlink_to("sub")
    with Folder(place) as folder:
        for path in ("link", "link/x", "sub", "none/x"):
            with pytest.raises(OSError, match=r".*"):
                folder.open(path)
        list(folder.entries())
        with folder.sub("sub") as below:
            list(below.read("file"))
    assert len(os.listdir("/proc/self/fd")) == before
