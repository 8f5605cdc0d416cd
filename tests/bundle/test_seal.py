"""Sealing: the spool's bytes become the bundle's bytes, once, whatever interrupts it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.folder import TEMPORARY, Folder
from steno.bundle.lock import holding
from steno.bundle.manifest import parse
from steno.bundle.reader import FolderLayers
from steno.bundle.recover import finish_interrupted_seal, recover
from steno.bundle.seal import Sweeper, seal
from steno.bundle.verify import Status, verify
from steno.errors import SealError
from steno.evidence import index, kinds, layout
from support.killing import KilledError, Killer
from support.spools import RUN_ID, START, contents, open_spool, sealed, small_spool


def status_of(run: Path) -> Status:
    with Folder(run) as folder:
        verdict = verify(folder)
        assert verdict.status is not Status.INVALID, verdict.steps[-1]
        return verdict.status


def test_the_streams_of_the_bundle_are_the_files_of_the_spool(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    before = {path: (tmp_path / "run/spool" / path).stat().st_ino for path in (layout.EVENTS, layout.STDOUT)}
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper())
    assert {path: (tmp_path / "run" / path).stat().st_ino for path in before} == before
    assert not (tmp_path / "run/spool").exists()
    assert status_of(tmp_path / "run") is Status.VALID


def test_every_file_is_private_and_none_is_left_over(tmp_path: Path) -> None:
    manifest = sealed(tmp_path / "run")
    assert set(contents(tmp_path / "run")) == {*manifest.files, layout.MANIFEST}
    for path in (tmp_path / "run").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_manifest_that_is_returned_is_the_one_on_disk(tmp_path: Path) -> None:
    manifest = sealed(tmp_path / "run")
    assert parse((tmp_path / "run" / layout.MANIFEST).read_bytes()) == manifest


@pytest.mark.parametrize("number", [errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP])
def test_where_links_cannot_be_made_the_bytes_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    small_spool(tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "linked")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with Folder(tmp_path / "linked") as folder:
        linked = seal(folder, RUN_ID, Sweeper())
    monkeypatch.setattr(os, "link", refuse)
    with Folder(tmp_path / "run") as folder:
        assert seal(folder, RUN_ID, Sweeper()) == linked
    assert contents(tmp_path / "run") == contents(tmp_path / "linked")


def test_another_failure_to_link_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_spool(tmp_path / "run")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", refuse)
    with Folder(tmp_path / "run") as folder, pytest.raises(OSError, match="Input/output"):
        seal(folder, RUN_ID, Sweeper())
    assert not (tmp_path / "run" / layout.MANIFEST).exists()


def test_a_run_that_did_not_write_its_end_is_not_sealed_but_can_be_recovered(tmp_path: Path) -> None:
    small_spool(tmp_path / "run", finished=False)
    with Folder(tmp_path / "run") as folder:
        with pytest.raises(SealError, match="the end of"):
            seal(folder, RUN_ID, Sweeper())
        assert not folder.has(layout.MANIFEST)
        recover(folder)
    assert status_of(tmp_path / "run") is Status.INCOMPLETE


def test_two_processes_do_not_seal_the_same_spool(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    with Folder(tmp_path / "run") as folder, folder.sub(layout.SPOOL) as spool:
        with holding(spool), pytest.raises(SealError, match="another process"):
            seal(folder, RUN_ID, Sweeper())
        seal(folder, RUN_ID, Sweeper())
    assert status_of(tmp_path / "run") is Status.VALID


def test_the_directories_are_synced_before_the_manifest_is_there_and_the_lock_is_held_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_spool(tmp_path / "run")
    synced: list[tuple[str, bool]] = []
    real = Folder.sync

    def sync(folder: Folder) -> None:
        with Folder(tmp_path / "run/spool") as spool, holding(spool) as got:
            assert not got
        synced.append((folder.path.name, (tmp_path / "run" / layout.MANIFEST).exists()))
        real(folder)

    monkeypatch.setattr(Folder, "sync", sync)
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper())
    assert synced == [("evidence", False), ("git", False), ("terminal", False), ("run", True)]


def test_every_file_is_synced_before_the_manifest_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_spool(tmp_path / "run")
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda fd: synced.add(os.fstat(fd).st_ino))
    real = os.replace

    def replace(*args: Any, **options: Any) -> None:
        if args[1] == layout.MANIFEST:
            names = [path for path in contents(tmp_path / "run") if not path.startswith("spool/")]
            assert {(tmp_path / "run" / name).stat().st_ino for name in names} <= synced
            synced.add(-1)
        real(*args, **options)

    monkeypatch.setattr(os, "replace", replace)
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper())
    assert -1 in synced


def test_a_file_in_which_there_is_nothing_is_left_out_and_reads_as_empty(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    spool.event(START)
    for tape in layout.TAPES:
        spool.stream(tape).close()
    spool.file(layout.STATUS_BEFORE, [])
    spool.event(kinds.CommandFinished(exit_code=0))
    spool.event(kinds.RunFinish(exit_code=0, completed=True))
    spool.close()
    with Folder(tmp_path / "run") as folder:
        assert list(seal(folder, RUN_ID, Sweeper()).files) == [layout.EVENTS]
        layers = FolderLayers(folder, RUN_ID)
        for path in (*layout.TAPES, layout.STATUS_BEFORE):
            assert (layers.size(path), list(layers.read(path))) == (0, [])
        assert list(layers.arrivals(layout.STDOUT)) == []
    assert set(contents(tmp_path / "run")) == {layout.EVENTS, layout.MANIFEST}
    assert status_of(tmp_path / "run") is Status.VALID


def test_the_indexes_of_the_streams_become_one_in_the_order_of_time(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    with Folder(tmp_path / "run/spool") as folder:
        layers = FolderLayers(folder, RUN_ID)
        before = {tape: list(layers.arrivals(tape)) for tape in layout.TAPES}
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper())
        layers = FolderLayers(folder, RUN_ID)
        assert {tape: list(layers.arrivals(tape)) for tape in layout.TAPES} == before
        joint = list(index.unpack_joined(layers.read(layout.INDEX)))
    assert sum(map(len, before.values())) == len(joint) == 3
    assert joint == sorted(joint, key=lambda one: one.mono_ns)


def test_a_seal_killed_at_any_operation_can_be_finished_with_the_same_bytes(tmp_path: Path) -> None:
    base, killer = tmp_path / "base", Killer()
    small_spool(base)
    shutil.copytree(base, tmp_path / "whole")
    with Folder(tmp_path / "whole") as folder, killer.before(None):
        seal(folder, RUN_ID, Sweeper())
    expected, operations = contents(tmp_path / "whole"), len(killer.operations)
    assert operations > 50
    for chosen in range(operations):
        run = tmp_path / f"run-{chosen}"
        shutil.copytree(base, run)
        with Folder(run) as folder:
            with killer.before(chosen), pytest.raises(KilledError):
                seal(folder, RUN_ID, Sweeper())
            if folder.has_folder(layout.SPOOL):
                with killer.before(None):
                    recover(folder)
        assert contents(run) == expected, chosen
        shutil.rmtree(run)


def test_a_recovery_killed_at_any_operation_can_be_done_again(tmp_path: Path) -> None:
    base, killer = tmp_path / "base", Killer()
    small_spool(base, finished=False)
    (base / "spool" / layout.STDERR).write_bytes(b"c")  # torn: its index says more
    shutil.copytree(base, tmp_path / "whole")
    with Folder(tmp_path / "whole") as folder, killer.before(None):
        recover(folder)
    streams = {
        path: data
        for path, data in contents(tmp_path / "whole").items()
        if path in (layout.STDIN, layout.STDOUT, layout.STDERR)
    }
    own = killer.operations.index("link")  # from here on it seals
    assert own > 5
    for chosen in range(own + 1):
        run = tmp_path / f"run-{chosen}"
        shutil.copytree(base, run)
        with Folder(run) as folder:
            with killer.before(chosen), pytest.raises(KilledError):
                recover(folder)
            if folder.has_folder(layout.SPOOL):
                with killer.before(None):
                    recover(folder)
        assert status_of(run) is Status.INCOMPLETE, chosen
        found = contents(run)
        assert {path: found[path] for path in streams} == streams
        shutil.rmtree(run)


def test_what_an_interrupted_seal_left_is_removed_only_beside_a_manifest(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    with Folder(tmp_path / "run") as folder:
        assert not finish_interrupted_seal(folder)
        seal(folder, RUN_ID, Sweeper())
        assert not finish_interrupted_seal(folder)
        folder.make_folder(layout.SPOOL)
        assert finish_interrupted_seal(folder)
        assert not folder.has_folder(layout.SPOOL)


def test_a_temporary_file_that_a_killed_seal_left_is_replaced(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    (tmp_path / "run" / f"{layout.MANIFEST}{TEMPORARY}").write_bytes(b"half")
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper())
    assert status_of(tmp_path / "run") is Status.VALID
