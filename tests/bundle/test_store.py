"""The store: where it is, and which run a word means."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.store import (
    RunState,
    create_run_folder,
    find_run,
    publish_run_folder,
    run_ids,
    state_of,
    store_path,
)
from steno.errors import RunNotFoundError, StoreError
from support.spools import RUN_ID, open_spool, sealed, small_spool

IDS = [
    "2026-01-25T12-00-00-000Z_0000000a",
    "2026-01-25T12-00-00-000Z_0000000b",
    "2026-01-26T12-00-00-000Z_0000000a",
]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of three runs, and things in it that are none. We stand in an empty directory."""
    place = tmp_path / "runs"
    for name in [*IDS, f".new-{IDS[0]}", "notes"]:
        (place / name).mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return place


def test_the_store_is_where_the_user_says_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"STENO_HOME": "/s", "XDG_DATA_HOME": "/x", "HOME": "/h"}
    assert store_path(env, "/chosen") == Path("/chosen")
    assert store_path(env) == Path("/s")
    assert store_path({**env, "STENO_HOME": ""}) == Path("/x/steno/runs")
    assert store_path({"HOME": "/h"}) == Path("/h/.local/share/steno/runs")
    monkeypatch.setattr("os.path.expanduser", lambda _: "/of/the/system")
    assert store_path({"HOME": ""}) == Path("/of/the/system/.local/share/steno/runs")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # a user that the system does not know
    with pytest.raises(StoreError, match="no place"):
        store_path({"HOME": ""})


def test_runs_are_listed_newest_first_and_nothing_else_is(runs: Path) -> None:
    assert list(run_ids(runs)) == sorted(IDS, reverse=True)


def test_a_store_that_is_not_there_yet_has_no_runs(tmp_path: Path) -> None:
    assert list(run_ids(tmp_path / "none")) == []


def test_a_store_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot read"):
        list(run_ids(tmp_path / "file"))


def test_a_run_is_found_by_its_id_by_a_unique_beginning_and_as_the_last(runs: Path) -> None:
    assert find_run(runs, IDS[1]) == runs / IDS[1]
    assert find_run(runs, "2026-01-26") == runs / IDS[2]
    assert find_run(runs, "@last") == runs / IDS[2]


def test_a_run_is_found_by_its_path(runs: Path) -> None:
    assert find_run(Path("/nowhere"), str(runs / IDS[0])) == runs / IDS[0]
    Path("packed.tar.gz").write_bytes(b"")
    assert find_run(runs, "packed.tar.gz") == Path("packed.tar.gz")
    assert find_run(runs, ".") == Path()


def test_a_beginning_of_several_runs_names_them_and_none_is_chosen(runs: Path) -> None:
    with pytest.raises(RunNotFoundError, match="any of 2 runs") as failure:
        find_run(runs, "2026-01-25")
    assert IDS[0] in str(failure.value)
    assert failure.value.hint


@pytest.mark.parametrize(
    "word", ["2027", "notes", "../notes", "/nowhere/at/all", "x" * 5000, "a\0b", "\udcff"]
)
def test_a_word_that_names_no_run_is_an_error_that_says_so(runs: Path, word: str) -> None:
    with pytest.raises(RunNotFoundError):
        find_run(runs, word)


def test_the_empty_word_names_no_run_although_every_id_begins_with_it(runs: Path) -> None:
    with pytest.raises(RunNotFoundError, match="empty"):
        find_run(runs, "")


def test_the_last_run_of_an_empty_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError, match="no run"):
        find_run(tmp_path, "@last")


def test_a_new_run_folder_is_private_and_hidden_until_it_is_published(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = create_run_folder(tmp_path / "a" / "runs", RUN_ID)
    finally:
        os.umask(before)
    store = tmp_path / "a" / "runs"
    assert stat.S_IMODE(folder.path.stat().st_mode) == stat.S_IMODE(store.stat().st_mode) == 0o700
    assert list(run_ids(store)) == []
    with publish_run_folder(folder, RUN_ID) as published:
        assert published.path == store / RUN_ID
    assert list(run_ids(store)) == [RUN_ID]


def test_a_store_that_cannot_be_made_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot write") as failure:
        create_run_folder(tmp_path / "file" / "runs", RUN_ID)
    assert "--store" in failure.value.hint


def test_the_state_of_a_run_follows_its_life(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "live")
    with Folder(tmp_path / "live") as run:
        assert state_of(run) is RunState.RUNNING
        inherited = os.dup(spool.lock)  # as the observer of the kernel has it
        spool.close()
        assert state_of(run) is RunState.ORPHANED
        os.close(inherited)
        assert state_of(run) is RunState.UNSEALED
    small_spool(tmp_path / "left")
    sealed(tmp_path / "sealed")
    (tmp_path / "empty").mkdir()
    for name, state in (
        ("left", RunState.UNSEALED),
        ("sealed", RunState.SEALED),
        ("empty", RunState.DAMAGED),
    ):
        with Folder(tmp_path / name) as run:
            assert state_of(run) is state
