"""A command that gets in the way of its own record: the seal makes room, or says what is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from steno.bundle.folder import TEMPORARY, Folder
from steno.bundle.lock import LOCK, holding, is_live
from steno.bundle.recover import recover
from steno.bundle.seal import Sweeper, seal
from steno.bundle.verify import Status, verify
from steno.errors import SealError
from steno.evidence import kinds, layout
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.spools import RUN_ID, START, open_spool, sealed, small_spool

SECRET = b"correct-horse-battery"


def status_of(run: Path) -> Status:
    with Folder(run) as folder:
        return verify(folder).status


def by_seal(folder: Folder) -> None:
    seal(folder, RUN_ID, Sweeper())


def by_recovery(folder: Folder) -> None:
    recover(folder)


BOTH = pytest.mark.parametrize("close", [by_seal, by_recovery])


@BOTH
@pytest.mark.parametrize("instead", ["nothing", "folder", "link", "fifo"])
def test_a_lock_that_is_gone_is_made_again(
    tmp_path: Path, close: Callable[[Folder], None], instead: str
) -> None:
    small_spool(tmp_path / "run")
    lock = tmp_path / "run/spool" / LOCK
    lock.unlink()
    if instead == "folder":
        (lock / "deep").mkdir(parents=True)
    elif instead == "link":
        lock.symlink_to(tmp_path / "elsewhere")
    elif instead == "fifo":
        os.mkfifo(lock)
    with Folder(tmp_path / "run") as folder:
        close(folder)
    assert status_of(tmp_path / "run") is Status.VALID
    assert not (tmp_path / "elsewhere").exists()


def test_a_recorder_whose_lock_was_removed_is_alive(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    spool.event(START)
    (tmp_path / "run/spool" / LOCK).unlink()
    with Folder(tmp_path / "run") as folder, folder.sub(layout.SPOOL) as below:
        assert is_live(folder)
        with holding(below) as held:
            assert not held
        spool.close()
        assert not is_live(folder)


def test_a_lock_that_was_made_again_holds_off_the_next(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    (tmp_path / "run/spool" / LOCK).unlink()
    with Folder(tmp_path / "run/spool") as one, Folder(tmp_path / "run/spool") as other, holding(one) as held:
        assert held
        with holding(other) as also:
            assert not also


@BOTH
@pytest.mark.parametrize(
    "name",
    [layout.MANIFEST, layout.EVENTS, layout.STDOUT, layout.CHANGES, layout.INDEX, layout.OUTPUT,
     f"{layout.MANIFEST}{TEMPORARY}", f"{layout.STDIN}{TEMPORARY}"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_has_a_name_of_ours_makes_way(
    tmp_path: Path, close: Callable[[Folder], None], name: str, kind: str
) -> None:
    small_spool(tmp_path / "run")
    path = tmp_path / "run" / name
    path.parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / "elsewhere").write_bytes(b"kept")
    if kind == "folder":
        path.joinpath(*["deep"] * 300).mkdir(parents=True)
    elif kind == "file":
        path.write_bytes(b"forged")
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with Folder(tmp_path / "run") as folder:
        close(folder)
    assert status_of(tmp_path / "run") is Status.VALID
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"


@pytest.mark.parametrize("name", ["evidence", "evidence/terminal", "evidence/git"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_or_a_link_in_place_of_a_folder_makes_way(tmp_path: Path, name: str, linked: bool) -> None:
    small_spool(tmp_path / "run")
    path = tmp_path / "run" / name
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(tmp_path) if linked else path.touch()
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper())
    assert status_of(tmp_path / "run") is Status.VALID


@BOTH
@pytest.mark.parametrize(
    "name", ["extra", "run.json", "evidence/extra", "evidence/terminal/extra", ".hidden", "deep/er/file"]
)
def test_what_is_not_ours_is_named_and_kept(
    tmp_path: Path, close: Callable[[Folder], None], name: str
) -> None:
    small_spool(tmp_path / "run")
    path = tmp_path / "run" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"kept")
    with Folder(tmp_path / "run") as folder:
        with pytest.raises(SealError, match=name.partition("/er")[0]) as failure:
            close(folder)
        assert "steno recover" in failure.value.hint
        assert path.read_bytes() == b"kept"
        assert status_of(tmp_path / "run") is Status.INCOMPLETE
        folder.remove_tree(name.partition("/er")[0])
        close(folder)
    assert status_of(tmp_path / "run") is Status.VALID


def test_a_manifest_that_the_command_put_there_does_not_cost_the_spool(tmp_path: Path) -> None:
    sealed(tmp_path / "other")
    small_spool(tmp_path / "run")
    (tmp_path / "run" / layout.MANIFEST).write_bytes((tmp_path / "other" / layout.MANIFEST).read_bytes())
    with Folder(tmp_path / "run") as folder:
        recover(folder)
    assert status_of(tmp_path / "run") is Status.VALID


@pytest.mark.parametrize("lines", [1, 220_000], ids=["small", "above-16-MiB"])
def test_a_patch_that_is_masked_once_more_leaves_the_events_as_they_were(tmp_path: Path, lines: int) -> None:
    ordinary = b"an ordinary line of a patch, of which there are many, and which is no secret..\n" * lines
    small_spool(tmp_path / "run")
    (tmp_path / "run/spool" / layout.WORKTREE_DIFF).write_bytes(ordinary + SECRET + b"\n")
    before = (tmp_path / "run/spool" / layout.EVENTS).read_bytes()
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper([SECRET]))
    masked = (tmp_path / "run" / layout.WORKTREE_DIFF).read_bytes()
    assert masked.endswith(b"..\n" + b"*" * len(SECRET) + b"\n")
    assert len(masked) == len(ordinary) + len(SECRET) + 1
    assert status_of(tmp_path / "run") is Status.VALID
    assert (tmp_path / "run" / layout.EVENTS).read_bytes() == before


def test_a_list_of_changes_that_no_event_tells_of_is_not_sealed(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run", Redactor(findings=Findings()))
    spool.event(START)
    spool.file(layout.CHANGES, [b'[{"path":"torn'])
    spool.event(kinds.CommandFinished(exit_code=0))
    spool.event(kinds.RunFinish(exit_code=0, completed=True))
    spool.close()
    with Folder(tmp_path / "run") as folder:
        assert layout.CHANGES not in seal(folder, RUN_ID, Sweeper()).files
    assert status_of(tmp_path / "run") is Status.VALID
