"""Nothing that appeared meanwhile is overwritten, on file systems that can promise it and on others."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from steno.restore.filesystem import exchange, rename_to_free


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[int]:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(name.encode())
    fd = os.open(tmp_path, os.O_PATH)
    yield fd
    os.close(fd)


@pytest.fixture(params=["able", "unable", "old"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that knows the flags, one that does not, and a C library without the call."""

    def refuse(*_: object) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1

    library = {"unable": SimpleNamespace(renameat2=refuse), "old": SimpleNamespace()}.get(request.param)
    if library is not None:
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)


@pytest.mark.usefixtures("kernel")
def test_a_taken_name_stays_what_it_is(parent: int, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        rename_to_free(parent, b"one", parent, b"other")
    rename_to_free(parent, b"one", parent, b"free")
    assert (tmp_path / "free" / "file").read_bytes() == b"one"
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileExistsError):  # a plain rename would replace it
        rename_to_free(parent, b"free", parent, b"empty")


@pytest.mark.usefixtures("kernel")
def test_two_names_change_places(parent: int, tmp_path: Path) -> None:
    exchange(parent, b"one", parent, b"other")
    assert (tmp_path / "one" / "file").read_bytes() == b"other"
    assert (tmp_path / "other" / "file").read_bytes() == b"one"
    assert sorted(os.listdir(tmp_path)) == ["one", "other"]


@pytest.mark.usefixtures("kernel")
def test_an_exchange_with_nothing_changes_nothing(parent: int, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        exchange(parent, b"one", parent, b"missing")
    assert sorted(os.listdir(tmp_path)) == ["one", "other"]
