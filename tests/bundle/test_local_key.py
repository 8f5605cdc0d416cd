"""The local key: made once, private, agreed on by all who start at the same time."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from steno.bundle import known_secrets, local_key
from steno.bundle.folder import Folder
from steno.bundle.local_key import LOCAL_KEY
from steno.errors import StoreError


def test_the_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    with Folder(tmp_path) as store:
        key = local_key.make_or_read(store)
        assert len(key) == 32
        assert local_key.make_or_read(store) == local_key.read(store) == key
    assert stat.S_IMODE((tmp_path / LOCAL_KEY).stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [LOCAL_KEY]


def test_recorders_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    with Folder(tmp_path) as store, ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: local_key.make_or_read(store), range(40)))
    assert keys == {(tmp_path / LOCAL_KEY).read_bytes()}
    assert os.listdir(tmp_path) == [LOCAL_KEY]


def test_a_link_in_the_place_of_the_key_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(bytes(32))
    (tmp_path / LOCAL_KEY).symlink_to(tmp_path / "other")
    with Folder(tmp_path) as store, pytest.raises(StoreError, match="cannot use"):
        local_key.make_or_read(store)


@pytest.mark.parametrize("content", [b"", bytes(31), bytes(33)])
def test_a_key_of_another_length_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOCAL_KEY).write_bytes(content)
    with Folder(tmp_path) as store, pytest.raises(StoreError):
        local_key.make_or_read(store)
    assert (tmp_path / LOCAL_KEY).read_bytes() == content


def test_what_the_recorder_knew_is_read_back_only_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    with Folder(tmp_path) as spool:
        assert known_secrets.read(spool, bytes(32)) == []
        known_secrets.keep(spool, bytes(32), [b"hunter2hunter2", b"\xff\0"])
        assert known_secrets.read(spool, bytes(32)) == [b"hunter2hunter2", b"\xff\0"]
        assert known_secrets.read(spool, b"x" * 32) == []
        assert b"hunter2" not in (tmp_path / known_secrets.KNOWN).read_bytes()


def test_a_value_that_is_learned_later_is_known_too_and_a_torn_record_costs_only_itself(
    tmp_path: Path,
) -> None:
    (tmp_path / "kernel").mkdir()
    with Folder(tmp_path) as spool:
        known = known_secrets.KnownSecrets(spool, bytes(32), [b"from the environment"])
        known.add([b"typed at a prompt"])
        known.close()
        assert known_secrets.read(spool, bytes(32)) == [b"from the environment", b"typed at a prompt"]
        file = tmp_path / known_secrets.KNOWN
        file.write_bytes(file.read_bytes()[:-1])
        assert known_secrets.read(spool, bytes(32)) == [b"from the environment"]
