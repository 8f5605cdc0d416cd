"""A lock is ours, or it is not; nobody waits for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.errors import StoreError
from steno.launch.file_lock import is_held, locked, take


def test_a_folder_is_held_until_it_is_closed(tmp_path: Path) -> None:
    with Folder(tmp_path) as watcher:
        with Folder(tmp_path) as first, Folder(tmp_path) as second:
            assert take(first.fd, seconds=0)
            assert not take(second.fd, seconds=0)
            assert is_held(watcher)
        assert not is_held(watcher)
        assert take(watcher.fd, seconds=0)


def test_whoever_waits_looks_again_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Folder(tmp_path) as first, Folder(tmp_path) as second:
        take(first.fd, seconds=0)
        looks: list[float] = []
        monkeypatch.setattr("time.sleep", looks.append)
        assert not take(second.fd, seconds=1)
        assert sum(looks) == pytest.approx(1)
        monkeypatch.setattr("time.sleep", lambda _: first.close())
        assert take(second.fd, seconds=1)


def test_a_file_that_somebody_else_holds_is_an_error_that_names_it(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        with (
            locked(folder, "lock"),
            pytest.raises(StoreError, match=r"somebody holds .*/lock"),
            locked(folder, "lock", seconds=0),
        ):
            pass
        with locked(folder, "lock"):
            assert folder.names() == ["lock"]
