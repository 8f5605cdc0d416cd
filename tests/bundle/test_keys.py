"""The local key: made once, apart from the store, private, agreed on by all who start at the same time."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.keys import (
    KEY_IN_STORE,
    KNOWN_SECRETS,
    LOCAL_KEY,
    HeldKeys,
    KnownSecrets,
    key_of_spool,
    make_or_read_key,
    read_keys,
    read_known_secrets,
)
from steno.errors import StoreError


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the keys are made; it does not exist yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "steno"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    path.mkdir()
    return path


def key_for(store: Path) -> bytes:
    with Folder(store) as folder:
        return make_or_read_key(folder)


def with_a_key_of_its_own(store: Path) -> bytes:
    key = os.urandom(32)
    (store / KEY_IN_STORE).write_bytes(key)
    return key


def test_the_key_is_made_once_apart_from_the_store_and_is_private(store: Path, keys: Path) -> None:
    key = key_for(store)
    assert len(key) == 32
    assert key_for(store) == key
    assert read_keys(store) == [key]
    assert stat.S_IMODE((keys / LOCAL_KEY).stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert (os.listdir(keys), os.listdir(store)) == ([LOCAL_KEY], [])


def test_a_directory_of_keys_that_others_may_read_is_closed_to_them(store: Path, keys: Path) -> None:
    keys.mkdir(parents=True, mode=0o755)
    key_for(store)
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700


def test_without_a_state_directory_it_is_below_the_home(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/no/place")
    monkeypatch.setenv("HOME", str(tmp_path))
    key_for(store)
    assert (tmp_path / ".local/state/steno" / LOCAL_KEY).exists()


@pytest.mark.parametrize("home", ["/proc/none", "relative"])
def test_who_has_no_home_to_write_to_has_the_key_in_the_store(
    store: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", home)
    key = key_for(store)
    assert (store / KEY_IN_STORE).read_bytes() == key
    assert read_keys(store) == [key]


def test_recorders_that_start_at_once_agree_on_one_key(store: Path, keys: Path) -> None:
    with Folder(store) as folder, ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: make_or_read_key(folder), range(40)))
    assert made == {(keys / LOCAL_KEY).read_bytes()}
    assert os.listdir(keys) == [LOCAL_KEY]


def test_a_key_in_the_store_is_used_and_moved_by_the_next_recording(store: Path, keys: Path) -> None:
    key = with_a_key_of_its_own(store)
    assert read_keys(store) == [key]
    assert (store / KEY_IN_STORE).exists()  # whoever reads moves nothing
    assert key_for(store) == key
    assert os.listdir(store) == []
    assert (keys / LOCAL_KEY).read_bytes() == key


def test_recorders_that_find_a_key_in_the_store_at_once_move_it_together(store: Path, keys: Path) -> None:
    key = with_a_key_of_its_own(store)
    with Folder(store) as folder, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: make_or_read_key(folder), range(40))) == {key}
    assert os.listdir(keys) == [LOCAL_KEY]


def test_the_key_of_a_second_store_is_kept_beside_the_first(store: Path, keys: Path, tmp_path: Path) -> None:
    first = key_for(store)
    other = tmp_path / "other"
    other.mkdir()
    second = with_a_key_of_its_own(other)
    assert key_for(other) == first
    assert os.listdir(other) == []
    assert len(os.listdir(keys)) == 2
    assert read_keys(other) == read_keys(store) == [first, second]


def test_a_store_that_cannot_be_changed_keeps_its_key(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = with_a_key_of_its_own(store)

    def refuse(_folder: Folder, path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    with Folder(store) as folder:
        monkeypatch.setattr(Folder, "remove", refuse)
        assert make_or_read_key(folder) == key
    assert (store / KEY_IN_STORE).read_bytes() == key


@pytest.mark.parametrize("name", [LOCAL_KEY, KEY_IN_STORE])
def test_a_link_in_the_place_of_the_key_is_not_followed(
    store: Path, keys: Path, tmp_path: Path, name: str
) -> None:
    keys.mkdir(parents=True, mode=0o700)
    (tmp_path / "other").write_bytes(bytes(32))
    ((keys if name == LOCAL_KEY else store) / name).symlink_to(tmp_path / "other")
    with pytest.raises(StoreError, match="cannot use"):
        key_for(store)


def test_a_link_in_the_place_of_the_directory_of_keys_is_not_followed(
    store: Path, keys: Path, tmp_path: Path
) -> None:
    keys.parent.mkdir()
    keys.symlink_to(tmp_path)
    with pytest.raises(StoreError, match="cannot use"):
        key_for(store)
    assert not (tmp_path / LOCAL_KEY).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory away")
def test_a_directory_of_keys_that_another_user_made_is_refused(
    store: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(StoreError, match="another user's"):
        key_for(store)


@pytest.mark.parametrize("content", [b"", bytes(31), bytes(33)])
def test_a_key_of_another_length_is_refused_and_kept(store: Path, keys: Path, content: bytes) -> None:
    keys.mkdir(parents=True)
    (keys / LOCAL_KEY).write_bytes(content)
    with pytest.raises(StoreError):
        key_for(store)
    assert (keys / LOCAL_KEY).read_bytes() == content


@pytest.mark.parametrize("emptied", [False, True])
def test_keys_that_the_command_removed_or_emptied_are_put_back(
    store: Path, keys: Path, *, emptied: bool
) -> None:
    key = key_for(store)
    held = HeldKeys(store)
    assert held.put_back(store) == 0
    (keys / LOCAL_KEY).unlink()
    if emptied:
        (keys / LOCAL_KEY).touch()
    assert held.put_back(store) == 1
    assert read_keys(store) == [key]
    assert stat.S_IMODE((keys / LOCAL_KEY).stat().st_mode) == 0o600


def test_a_key_whose_place_cannot_be_made_again_is_put_into_the_store(store: Path, keys: Path) -> None:
    key = key_for(store)
    held = HeldKeys(store)
    (keys / LOCAL_KEY).unlink()
    keys.rmdir()
    keys.parent.rmdir()
    keys.parent.write_bytes(b"in the way")
    assert held.put_back(store) == 1
    assert (store / KEY_IN_STORE).read_bytes() == key


def test_what_the_recorder_knew_is_read_back_only_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    with Folder(tmp_path) as spool:
        assert read_known_secrets(spool, bytes(32)) == []
        KnownSecrets(spool, bytes(32), [b"hunter2hunter2", b"\xff\0"]).close()
        assert read_known_secrets(spool, bytes(32)) == [b"hunter2hunter2", b"\xff\0"]
        assert read_known_secrets(spool, b"x" * 32) == []
        assert b"hunter2" not in (tmp_path / KNOWN_SECRETS).read_bytes()


def test_of_several_keys_the_one_of_the_spool_is_found(store: Path, tmp_path: Path) -> None:
    first = key_for(store)
    second = with_a_key_of_its_own(store)
    key_for(store)
    (tmp_path / "kernel").mkdir()
    with Folder(tmp_path) as spool:
        assert key_of_spool(spool, store) == first
        KnownSecrets(spool, second, [b"hunter2hunter2"]).close()
        assert key_of_spool(spool, store) == second


def test_a_value_that_is_learned_later_is_known_too_and_a_torn_record_costs_only_itself(
    tmp_path: Path,
) -> None:
    (tmp_path / "kernel").mkdir()
    with Folder(tmp_path) as spool:
        known = KnownSecrets(spool, bytes(32), [b"from the environment"])
        known.add([b"typed at a prompt"])
        known.close()
        assert read_known_secrets(spool, bytes(32)) == [b"from the environment", b"typed at a prompt"]
        file = tmp_path / KNOWN_SECRETS
        file.write_bytes(file.read_bytes()[:-1])
        assert read_known_secrets(spool, bytes(32)) == [b"from the environment"]
