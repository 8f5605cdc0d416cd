"""The trash: what is taken away lies there under its old name, and nobody leads it elsewhere."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.restore import filesystem as trash_room
from steno.restore.filesystem import Trash, open_parent


def take(trash: Trash, path: Path) -> Path:
    fd = os.open(path.parent, os.O_PATH)
    try:
        return Path(os.fsdecode(trash.take(fd, os.fsencode(path.name), os.fsencode(path))))
    finally:
        os.close(fd)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """On another file system."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system to write to")
    with tempfile.TemporaryDirectory(dir=shared) as scratch:
        yield Path(scratch)


def test_two_of_one_name_are_kept_side_by_side(tmp_path: Path) -> None:
    trash, place = Trash(tmp_path / "trash", "undo"), tmp_path / "d"
    place.mkdir()
    kept = []
    for content in (b"one", b"two"):
        (place / "f").write_bytes(content)
        kept.append(take(trash, place / "f"))
    assert [path.read_bytes() for path in kept] == [b"one", b"two"]
    assert [path.name for path in kept] == ["f", "f~2"]
    assert (tmp_path / "trash").stat().st_mode & 0o777 == 0o700
    assert trash.places == [os.fsencode(tmp_path / "trash" / "undo")]


def test_what_lay_below_a_file_that_was_taken_first_is_kept_beside_it(tmp_path: Path) -> None:
    trash = Trash(tmp_path / "trash", "undo")
    (tmp_path / "d").write_bytes(b"a file")
    first = take(trash, tmp_path / "d")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"below")
    assert take(trash, tmp_path / "d" / "f").read_bytes() == b"below"
    assert first.read_bytes() == b"a file"


def test_what_lies_on_another_file_system_stays_there_and_git_does_not_see_it(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "f").write_bytes(b"mine")
    here = os.fsencode(elsewhere)

    def only_below(path: bytes) -> object:
        """As if nobody could write above that directory."""
        if not path.startswith(here + b"/"):
            raise PermissionError(13, "Permission denied")
        return open_parent(path)

    monkeypatch.setattr(trash_room, "open_parent", only_below)
    kept = take(Trash(tmp_path / "trash", "undo"), elsewhere / "f")
    home = elsewhere / f".steno-trash-{os.geteuid()}"
    assert kept == Path(home, "undo", *elsewhere.parts[1:], "f")
    assert kept.read_bytes() == b"mine"
    assert (home / ".gitignore").read_bytes() == b"*\n"
    assert home.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(home)


def test_a_trash_that_leads_elsewhere_is_not_used_and_nothing_is_taken(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "trash").symlink_to("theirs")
    (tmp_path / "f").write_bytes(b"mine")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trash_room, "_on_the_same_device", lambda *_: os.fsencode(tmp_path / "trash"))
        with pytest.raises(OSError, match="is not a directory of this user"):
            take(Trash(tmp_path / "trash", "undo"), tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"mine"
    assert not list((tmp_path / "theirs").iterdir())
