"""Recovering what a killed recorder left: the run, its private copies, folders that never became a run."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.keys import keep_known_secrets, make_or_read_key
from steno.bundle.lock import holding
from steno.bundle.store import UNPUBLISHED, RunState, state_of
from steno.bundle.verify import Status, verify
from steno.capture import tmpfs
from steno.capture.tmpfs import make_shadow, remove_shadow
from steno.claims import folder as claims_folder
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import intake_names, kinds, layout
from steno.evidence.kinds import EventData
from steno.record.recover import STALE_SECONDS, RecoveryResult, recover_all, recover_run
from support.claims_told import sdk
from support.frames_made import FakeFrames, Found
from support.live_runs import LiveRun
from support.making import FINISHED, RUN_ID, make_run, start
from support.recorded import Recorded
from support.sought import assert_nowhere
from support.told import claims_file

OTHER_ID = RUN_ID.replace("a1b2c3d4", "00000000")
NEW = f"{UNPUBLISHED}{RUN_ID}"


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of this test alone: in the memory that all share lies what other tests are about to recover."""
    path = tmp_path / "memory"
    path.mkdir()
    for module in (claims_folder, tmpfs):
        monkeypatch.setattr(module, "memory_directories", lambda: (path,))
    return path


def state(path: Path) -> RunState:
    with Folder(path) as folder:
        return state_of(folder)


def test_a_killed_run_is_sealed_and_says_what_is_missing(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(), FINISHED[0], sealed=False)
    report = recover_run(path)
    assert (report.done, report.gaps) == (RecoveryResult.RECOVERED, ("recorder_killed",))
    with Folder(path) as folder:
        assert verify(folder).status is Status.INCOMPLETE


def test_a_sealed_run_is_left_as_it_is(tmp_path: Path) -> None:
    path = make_run(tmp_path)
    before = (path / "manifest.json").read_bytes()
    assert recover_run(path).done is RecoveryResult.ALREADY_SEALED
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

    monkeypatch.setattr("steno.record.recover.recover", fail)
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
    assert recover_run(path).done is RecoveryResult.TIDIED
    with Folder(path) as folder:
        assert verify(folder).status is Status.VALID


def test_private_copies_are_removed_and_nothing_else_is(tmp_path: Path) -> None:
    private, _ = make_shadow(tmp_path / "fallback")
    precious = tmp_path / "elsewhere" / "steno-shadow-precious"
    precious.mkdir(mode=0o700, parents=True)
    path = make_run(tmp_path, start(scratch=[str(private), str(precious), "/"]), sealed=False)
    recover_run(path)
    assert not private.exists()
    assert precious.exists()


def test_copies_in_the_store_are_removed(tmp_path: Path) -> None:
    private = tmp_path / "steno-shadow-x"
    private.mkdir(mode=0o700)
    path = make_run(tmp_path, start(scratch=[str(private)]), sealed=False)
    recover_run(path)
    assert not private.exists()


def test_copies_of_a_recorder_that_was_killed_before_its_first_event_are_removed(
    tmp_path: Path, memory: Path
) -> None:
    ended = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, check=True).stdout.decode().strip()
    abandoned = memory / f"steno-shadow-{ended}-left"
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
        RUN_ID: RecoveryResult.RECOVERED,
        broken: RecoveryResult.FAILED,
    }
    assert reports[broken].exit_code


def test_all_of_no_store_is_nothing(tmp_path: Path) -> None:
    assert list(recover_all(tmp_path / "none")) == []


def test_folders_of_runs_that_never_began_are_removed_when_they_are_old(tmp_path: Path) -> None:
    (tmp_path / NEW / "terminal").mkdir(parents=True)
    changed = (tmp_path / NEW).stat().st_mtime
    assert list(recover_all(tmp_path, now=changed + 1)) == []
    (report,) = recover_all(tmp_path, now=changed + STALE_SECONDS + 1)
    assert (report.run, report.done) == (NEW, RecoveryResult.REMOVED)
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
        key = make_or_read_key(store)
        made = FakeFrames(key=key).header(closed=0).process()
        made.event("unlink", "/srv/value-of-this-run/a", state=Found(size=3))
        made.write(spool.path)
        keep_known_secrets(spool, key, [b"value-of-this-run"])
    report = recover_run(path)
    assert report.gaps == ("after_unknown", "observer_killed", "recorder_killed")
    with Folder(path) as run:
        assert verify(run).status is Status.INCOMPLETE
    files = Recorded(path).json(layout.FILES)["files"]
    assert [(file["path"], file["after"], file["operations"]) for file in files] == [
        (f"/srv/{'*' * 17}/a", {"unknown": True}, ["delete"])
    ]
    assert_nowhere(["value-of-this-run"], path)


def test_a_run_lasted_as_long_as_the_kernel_saw_it_though_its_recorder_was_killed(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(observer="notify"), sealed=False)
    later = 8_000_000_000_000_000  # than anything that this machine's clock gives
    with Folder(tmp_path) as store, Folder(path / layout.SPOOL) as spool:
        key = make_or_read_key(store)
        made = FakeFrames(key=key).header(closed=1).process()
        made.event("unlink", "/srv/a", at=later, state=Found(size=3))
        made.write(spool.path)
        keep_known_secrets(spool, key, [])
    recover_run(path)
    run = Recorded(path).json(layout.RUN)
    assert run["duration_ns"] == later
    (killed,) = (gap["detail"] for gap in run["gaps"] if gap["reason"] == "recorder_killed")
    assert killed.endswith("of what came later only what the kernel saw is known")


def test_a_run_whose_command_outlives_its_recorder_is_left_until_that_has_ended(tmp_path: Path) -> None:
    live = LiveRun(tmp_path)
    with live.outlived(), pytest.raises(BadRequestError, match="is gone, but its command goes on") as failure:
        recover_run(live.path)
    assert "wait for the command to end" in failure.value.hint
    assert recover_run(live.path).done is RecoveryResult.RECOVERED


def test_frames_without_their_key_are_a_gap(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(observer="notify"), sealed=False)
    FakeFrames().process().event("stat", "/a", state=Found()).write(path / layout.SPOOL)
    assert recover_run(path).gaps == ("kernel_record_damaged", "recorder_killed")
    health = Recorded(path).json(layout.HEALTH)
    assert health["kernel_layer"] == "absent"


@pytest.fixture
def told() -> Iterator[claims_folder.IntakeFolder]:
    """What programs told a recorder that is gone."""
    made = claims_folder.make_in_memory(RUN_ID)
    assert made is not None
    (made.path / "sdk.ndjson").write_bytes(sdk(0, run_id=RUN_ID))
    yield made
    made.close()
    shutil.rmtree(made.path, ignore_errors=True)


def killed(store: Path, told: claims_folder.IntakeFolder, *events: EventData) -> Path:
    begin = start(intake="memory", shim="auto", scratch=[str(told.path)])
    return make_run(store, begin, FINISHED[0], *events, sealed=False)


def test_what_was_told_is_kept_and_the_folder_is_removed(
    tmp_path: Path, told: claims_folder.IntakeFolder
) -> None:
    path = killed(tmp_path, told)
    assert recover_run(path).gaps == ("recorder_killed",)
    assert Recorded(path).evidence(layout.CLAIMS).count(b"\n") == 1
    assert not told.path.exists()


def test_a_folder_that_is_gone_is_a_gap(tmp_path: Path, told: claims_folder.IntakeFolder) -> None:
    path = killed(tmp_path, told)
    shutil.rmtree(told.path)
    assert recover_run(path).gaps == ("intake_disturbed", "recorder_killed")
    assert Recorded(path).evidence(layout.CLAIMS) == b""


def test_what_the_recorder_had_told_already_is_not_told_twice(
    tmp_path: Path, told: claims_folder.IntakeFolder
) -> None:
    said = kinds.SdkIntake(shim="openai-agents", lines=1, hooks=0)
    path = killed(tmp_path, told, said)
    recover_run(path)
    with Folder(path) as folder:
        assert verify(folder).gaps == ["recorder_killed"]


def test_what_was_kept_stays_when_the_folder_is_gone(
    tmp_path: Path, told: claims_folder.IntakeFolder
) -> None:
    path = killed(tmp_path, told, kinds.SdkIntake(shim="openai-agents", lines=1, hooks=0))
    kept = claims_file({intake_names.SDK: sdk(0, run_id=RUN_ID)})
    (path / layout.SPOOL / layout.EVIDENCE).mkdir(exist_ok=True)
    (path / layout.SPOOL / layout.CLAIMS).write_bytes(kept)
    shutil.rmtree(told.path)
    assert recover_run(path).gaps == ("intake_disturbed", "recorder_killed")
    assert Recorded(path).evidence(layout.CLAIMS) == kept


def test_a_folder_of_another_run_is_not_touched(tmp_path: Path, told: claims_folder.IntakeFolder) -> None:
    path = make_run(
        tmp_path, start(intake="memory", scratch=[str(told.path)]), FINISHED[0], run_id=OTHER_ID, sealed=False
    )
    assert recover_run(path).gaps == ("intake_disturbed", "recorder_killed")
    assert told.path.exists()


def test_folders_of_runs_that_are_over_are_removed_with_everything_else(
    tmp_path: Path, told: claims_folder.IntakeFolder
) -> None:
    told.close()
    assert all(report.exit_code == 0 for report in recover_all(tmp_path))
    assert not told.path.exists()
