"""Recovering what a killed recorder left: the run, its private copies, folders that never became a run."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from frames_made import FakeFrames, Found
from making import FINISHED, RUN_ID, make_run, start
from steno.bundle import known_secrets, local_key
from steno.bundle.folder import Folder
from steno.bundle.spool import holding
from steno.bundle.store import UNPUBLISHED, RunState, state_of
from steno.bundle.verify import Status, verify
from steno.capture.shadow import make_shadow, memory_directories, remove_shadow
from steno.errors import BadRequestError, UnreadableBundleError
from steno.events import canonical, layout
from steno.record.recovery import STALE_SECONDS, Done, recover_all, recover_run

OTHER_ID = RUN_ID.replace("a1b2c3d4", "00000000")
NEW = f"{UNPUBLISHED}{RUN_ID}"


def state(path: Path) -> RunState:
    with Folder(path) as folder:
        return state_of(folder)


def test_a_killed_run_is_sealed_and_says_what_is_missing(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(), FINISHED[0], sealed=False)
    report = recover_run(path)
    assert (report.done, report.gaps) == (Done.RECOVERED, ("recorder_killed",))
    with Folder(path) as folder:
        assert verify(folder).status is Status.INCOMPLETE


def test_a_sealed_run_is_left_as_it_is(tmp_path: Path) -> None:
    path = make_run(tmp_path)
    before = (path / "manifest.json").read_bytes()
    assert recover_run(path).done is Done.ALREADY_SEALED
    assert (path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "make room"), (errno.EDQUOT, "make room"), (errno.EACCES, "look at x in")],
)
def test_the_hint_fits_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    path = make_run(tmp_path, start(), sealed=False)

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number), "x")

    monkeypatch.setattr("steno.record.recovery.recover", fail)
    with pytest.raises(UnreadableBundleError, match=f"x: {os.strerror(number)}") as failure:
        recover_run(path)
    assert said in failure.value.hint


def test_a_running_run_is_an_error(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(), sealed=False)
    with Folder(path / layout.SPOOL) as spool, holding(spool), pytest.raises(BadRequestError, match="still"):
        recover_run(path)
    assert state(path) is RunState.UNSEALED


def test_the_leftover_of_an_interrupted_seal_is_removed(tmp_path: Path) -> None:
    path = make_run(tmp_path)
    (path / layout.SPOOL).mkdir()
    assert recover_run(path).done is Done.TIDIED
    with Folder(path) as folder:
        assert verify(folder).status is Status.VALID


def test_private_copies_are_removed_and_nothing_else_is(tmp_path: Path) -> None:
    shadow, _ = make_shadow(tmp_path / "fallback")
    precious = tmp_path / "elsewhere" / "steno-shadow-precious"
    precious.mkdir(mode=0o700, parents=True)
    path = make_run(tmp_path, start(scratch=[str(shadow), str(precious), "/"]), sealed=False)
    recover_run(path)
    assert not shadow.exists()
    assert precious.exists()


def test_copies_in_the_store_are_removed(tmp_path: Path) -> None:
    shadow = tmp_path / "steno-shadow-x"
    shadow.mkdir(mode=0o700)
    path = make_run(tmp_path, start(scratch=[str(shadow)]), sealed=False)
    recover_run(path)
    assert not shadow.exists()


def test_copies_of_a_recorder_that_was_killed_before_its_first_event_are_removed(tmp_path: Path) -> None:
    ended = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, check=True).stdout.decode().strip()
    abandoned = memory_directories()[0] / f"steno-shadow-{ended}-left"
    ours, _ = make_shadow(tmp_path / "fallback")
    abandoned.mkdir(mode=0o700)
    reports = list(recover_all(tmp_path))
    assert str(abandoned) in {report.run for report in reports}
    assert not abandoned.exists()
    assert ours.exists()
    remove_shadow(ours, fallback=tmp_path / "fallback")


@pytest.mark.parametrize("content", ["nothing", "file"])
def test_what_is_no_run_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / RUN_ID
    path.mkdir() if content == "nothing" else path.write_bytes(b"")
    with pytest.raises(UnreadableBundleError):
        recover_run(path)


def test_all_recovers_every_unsealed_run_and_reports_each(tmp_path: Path) -> None:
    make_run(tmp_path, start(), sealed=False)
    make_run(tmp_path, run_id=OTHER_ID)
    broken = OTHER_ID.replace("00000000", "11111111")
    (tmp_path / broken / layout.SPOOL / "lock").parent.mkdir(parents=True)
    (tmp_path / broken / layout.SPOOL / "lock").write_bytes(b"")
    reports = {report.run: report for report in recover_all(tmp_path)}
    assert {run: report.done for run, report in reports.items()} == {
        RUN_ID: Done.RECOVERED,
        broken: Done.FAILED,
    }
    assert reports[broken].exit_code


def test_all_of_no_store_is_nothing(tmp_path: Path) -> None:
    assert list(recover_all(tmp_path / "none")) == []


def test_folders_of_runs_that_never_began_are_removed_when_they_are_old(tmp_path: Path) -> None:
    (tmp_path / NEW / "terminal").mkdir(parents=True)
    changed = (tmp_path / NEW).stat().st_mtime
    assert list(recover_all(tmp_path, now=changed + 1)) == []
    (report,) = recover_all(tmp_path, now=changed + STALE_SECONDS + 1)
    assert (report.run, report.done) == (NEW, Done.REMOVED)
    assert not (tmp_path / NEW).exists()


def test_a_folder_whose_recorder_lives_is_kept(tmp_path: Path) -> None:
    made = make_run(tmp_path, start(), sealed=False)
    made.rename(tmp_path / NEW)
    with Folder(tmp_path / NEW / layout.SPOOL) as spool, holding(spool):
        assert list(recover_all(tmp_path, now=made.parent.stat().st_mtime + 10 * STALE_SECONDS)) == []


def test_a_link_that_looks_like_a_folder_of_ours_is_not_followed(tmp_path: Path) -> None:
    store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    store.mkdir()
    elsewhere.mkdir()
    (store / NEW).symlink_to(elsewhere)
    os.utime(elsewhere, (0, 0))
    assert list(recover_all(store)) == []
    assert elsewhere.exists()


def test_the_frames_of_a_killed_recorder_are_sealed_and_what_it_knew_is_masked(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(observer="notify"), sealed=False)
    with Folder(tmp_path) as store, Folder(path / layout.SPOOL) as spool:
        key = local_key.make_or_read(store)
        made = FakeFrames(key=key).header(closed=0).process()
        made.event("unlink", "/srv/value-of-this-run/a", state=Found(size=3))
        made.write(spool.path)
        known_secrets.keep(spool, key, [b"value-of-this-run"])
    report = recover_run(path)
    assert report.gaps == ("after_unknown", "observer_killed", "recorder_killed")
    with Folder(path) as run:
        assert verify(run).status is Status.INCOMPLETE
    files = canonical.decode((path / layout.FILES).read_bytes())["files"]
    assert [(file["path"], file["after"], file["operations"]) for file in files] == [
        (f"/srv/{'*' * 17}/a", {"unknown": True}, ["delete"])
    ]
    assert not [
        each for each in path.rglob("*") if each.is_file() and b"value-of-this-run" in each.read_bytes()
    ]


def test_frames_without_their_key_are_a_gap(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(observer="notify"), sealed=False)
    FakeFrames().process().event("stat", "/a", state=Found()).write(path / layout.SPOOL)
    assert recover_run(path).gaps == ("kernel_record_damaged", "recorder_killed")
    health = canonical.decode((path / layout.HEALTH).read_bytes())
    assert health["kernel_layer"] == "absent"
