"""Spools: everything is masked on its way in, and a full disk tears no event."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.lock import LOCK, holding, is_live
from steno.bundle.spool import RESERVE, RESERVE_BYTES, Spool
from steno.evidence import kinds, layout
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.spools import RUN_ID, START, open_spool, start

SECRET = "ghp_" + "0aB1" * 9


def spooled(run: Path, name: str) -> bytes:
    return (run / layout.SPOOL / name).read_bytes()


@contextmanager
def looked_at(run: Path) -> Iterator[int]:
    """As by a process that loses its processor while it looks whether the run is live."""
    with (run / layout.SPOOL / LOCK).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield lock.fileno()


def fill(place: Path) -> None:
    """Leave not one byte on the disk."""
    with (place / f"filler-{len(list(place.iterdir()))}").open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC  # noqa: PT017 - the loop ends with it


def test_events_are_numbered_from_zero_and_carry_the_run(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    spool.event(START)
    spool.event(kinds.CommandContinued())
    spool.close()
    first, second = [
        kinds.parse_line(line + b"\n") for line in spooled(tmp_path / "run", layout.EVENTS).splitlines()
    ]
    assert (first.seq, second.seq) == (0, 1)
    assert first.run_id == second.run_id == RUN_ID
    assert first.data == START
    assert first.mono_ns <= second.mono_ns


def test_a_secret_in_an_event_is_masked_before_it_is_on_disk(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    spool.event(start(cmd_redacted=["curl", f"https://ada:{SECRET}@example.org/"], name=SECRET))
    assert SECRET.encode() not in spooled(tmp_path / "run", layout.EVENTS)
    assert b"REDACTED" in spooled(tmp_path / "run", layout.EVENTS)
    spool.close()


def test_a_file_is_masked_across_its_blocks(tmp_path: Path) -> None:
    findings = Findings()
    spool = open_spool(tmp_path / "run", Redactor(findings=findings))
    blocks = [b"+token = ", SECRET[:20].encode(), SECRET[20:].encode() + b"\n"]
    spool.file(layout.DIFF, blocks)
    spool.close()
    written = spooled(tmp_path / "run", layout.DIFF)
    assert SECRET.encode() not in written
    assert len(written) == sum(map(len, blocks))
    assert findings.total > 0


def test_data_is_masked_string_by_string_and_names_that_are_not_utf_8_are_kept_readable(
    tmp_path: Path,
) -> None:
    spool = open_spool(tmp_path / "run")
    spool.json_file(layout.CHANGES, [{"path": os.fsdecode(b"caf\xe9"), "note": SECRET}])
    spool.event(start(cwd=os.fsdecode(b"/caf\xe9")))
    spool.close()
    (change,) = json.loads(spooled(tmp_path / "run", layout.CHANGES))
    assert change["path"] == "caf\\xe9"
    assert SECRET not in change["note"]
    assert b"/caf\\\\xe9" in spooled(tmp_path / "run", layout.EVENTS)


def test_a_live_spool_is_told_from_one_that_was_left(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    with Folder(tmp_path / "run") as run, run.sub(layout.SPOOL) as folder:
        assert is_live(run)
        with holding(folder) as held:
            assert not held
        spool.close()
        assert not is_live(run)
        with holding(folder) as held:
            assert held
            assert is_live(run)
        assert not is_live(run)


def test_who_looks_at_a_spool_is_not_taken_for_its_recorder(tmp_path: Path) -> None:
    open_spool(tmp_path / "run").close()
    with looked_at(tmp_path / "run"), Folder(tmp_path / "run") as run:
        assert not is_live(run)


def test_whoever_takes_a_spool_waits_for_one_who_only_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_spool(tmp_path / "run").close()
    with (
        Folder(tmp_path / "run") as run,
        run.sub(layout.SPOOL) as folder,
        looked_at(tmp_path / "run") as look,
    ):
        monkeypatch.setattr("steno.bundle.lock.time.sleep", lambda _: fcntl.flock(look, fcntl.LOCK_UN))
        with holding(folder) as held:
            assert held


def test_the_recorder_holds_its_spool_until_it_lets_go(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    spool.finish()
    with Folder(tmp_path / "run") as run, run.sub(layout.SPOOL) as folder:
        with holding(folder) as held:
            assert not held
        with holding(folder, spool.held) as held:
            assert held
        assert is_live(run)
        spool.let_go()
        assert not is_live(run)


def test_a_file_that_was_put_in_the_place_of_the_recorders_is_not_the_recorders(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    (tmp_path / "run" / layout.SPOOL / LOCK).unlink()
    (tmp_path / "run" / layout.SPOOL / LOCK).touch()
    with (tmp_path / "run" / layout.SPOOL / LOCK).open() as planted:
        fcntl.flock(planted, fcntl.LOCK_EX)
        with Folder(tmp_path / "run" / layout.SPOOL) as folder, holding(folder, spool.held) as held:
            assert not held
    spool.close()


def test_there_is_no_live_spool_where_there_is_no_spool(tmp_path: Path) -> None:
    with Folder(tmp_path) as run:
        assert not is_live(run)


def test_the_reserve_is_kept_while_recording_and_is_no_part_of_the_record(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    reserve = tmp_path / "run" / layout.SPOOL / RESERVE
    assert reserve.stat().st_blocks * 512 >= RESERVE_BYTES
    spool.close()
    assert not reserve.exists()


@pytest.mark.process
def test_a_full_disk_costs_the_reserve_and_not_the_event(small_disk: Path) -> None:
    spool = open_spool(small_disk / "run")
    spool.event(START)
    fill(small_disk)
    for _ in range(200):  # more than the page of the file that is already taken
        spool.event(kinds.Gap("stream_lost", "no room"))
    assert spool.failure is not None
    assert not (small_disk / "run" / layout.SPOOL / RESERVE).exists()
    assert len(spooled(small_disk / "run", layout.EVENTS).splitlines()) == 201
    spool.close()


@pytest.mark.process
def test_without_a_reserve_an_event_that_does_not_fit_is_rolled_back_whole(small_disk: Path) -> None:
    spool = open_spool(small_disk / "run")
    spool.event(START)
    fill(small_disk)
    spool.event(kinds.Gap("stream_lost", "x" * 5000))  # takes the reserve
    fill(small_disk)
    whole = write_until_full(lambda: spool.event(kinds.Gap("stream_lost", "x" * 300)))
    with pytest.raises(OSError, match="No space"):
        spool.event(kinds.Gap("stream_lost", "x" * 5000))
    (small_disk / "filler-1").unlink()
    spool.event(kinds.RunFinish(exit_code=0, completed=True))
    spool.close()
    events = [
        kinds.parse_line(line + b"\n") for line in spooled(small_disk / "run", layout.EVENTS).splitlines()
    ]
    assert [event.seq for event in events] == list(range(whole + 3))
    assert isinstance(events[-1].data, kinds.RunFinish)


@pytest.mark.process
def test_an_event_that_takes_the_reserve_and_still_does_not_fit_is_rolled_back_too(small_disk: Path) -> None:
    spool = open_spool(small_disk / "run")
    spool.event(START)
    fill(small_disk)
    with pytest.raises(OSError, match="No space"):
        spool.event(kinds.Gap("stream_lost", "x" * 2 * RESERVE_BYTES))
    spool.event(kinds.CommandStarted(7))
    spool.close()
    lines = spooled(small_disk / "run", layout.EVENTS).splitlines()
    assert [kinds.parse_line(line + b"\n").type for line in lines] == ["run_start", "command_started"]


def write_until_full(write: Callable[[], None]) -> int:
    done = 0
    while done < 1000:
        try:
            write()
        except OSError:
            return done
        done += 1
    raise AssertionError("the disk never filled up")


@pytest.mark.process
def test_a_disk_without_room_for_the_reserve_is_refused_at_once(small_disk: Path) -> None:
    (small_disk / "run").mkdir()
    fill(small_disk)
    with Folder(small_disk / "run") as run, pytest.raises(OSError, match="No space"):
        Spool(run, RUN_ID, Redactor(findings=Findings()), mono_origin_ns=0)


def test_settling_asks_only_the_tapes_that_hold_something_back(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    tape, other = spool.stream(layout.STDOUT), spool.stream(layout.STDERR)
    tape.append(1, b"$ ")
    assert tape.waiting
    assert not other.waiting
    spool.settle()
    spool.sync()
    assert spooled(tmp_path / "run", layout.STDOUT) == b"$ "
    tape.close()
    other.close()
    spool.close()
