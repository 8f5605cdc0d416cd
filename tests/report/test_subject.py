"""What a report is about: whatever state a record is in, that is what is said of it."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.lock import holding
from steno.bundle.store import RunState
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, kinds, layout
from steno.report.overview import Subject, subject_of
from support.making import FINISHED, RUN_ID, make_run, start
from support.reading import opened
from support.resealing import event_lines, put_events, reseal
from support.run_builder import RunBuilder

GAP = kinds.Gap(reason="stream_lost", detail="the disk was full", lost_bytes=7)


def subject(run: Path) -> Subject:
    with opened(run) as folder:
        return subject_of(folder)


def test_a_sound_record_is_valid(tmp_path: Path) -> None:
    found = subject(make_run(tmp_path))
    assert (found.status, found.state, found.run_id) == ("valid", RunState.SEALED, RUN_ID)
    assert found.problems == found.gaps == []
    assert found.root
    assert found.summary
    assert found.summary["run"]["command"] == ["make", "test"]


def test_a_record_with_a_gap_is_incomplete(tmp_path: Path) -> None:
    found = subject(make_run(tmp_path, start(), *FINISHED[:2], GAP, FINISHED[2]))
    assert (found.status, found.gaps, found.problems) == ("incomplete", ["stream_lost"], [])


def test_a_tampered_record_is_invalid_and_says_which_file(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.EVENTS).write_bytes((run / layout.EVENTS).read_bytes().replace(b"make", b"fake"))
    found = subject(run)
    assert found.status == "invalid"
    assert found.problems[0].startswith("step 4 of the verification failed")
    assert layout.EVENTS in found.problems[1]


def test_a_forger_who_knows_the_format_is_still_caught(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    lines = [line.replace(b'"exit_code":0', b'"exit_code":7') for line in event_lines(run)]
    put_events(run, [*event_lines(run)[:-1], lines[-1]])
    reseal(run)
    found = subject(run)
    assert found.status == "invalid"
    assert found.problems[0].startswith("step 5")


def test_a_conclusion_that_somebody_puts_beside_the_evidence_makes_the_record_invalid(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.RUN).write_bytes(b"{}")
    reseal(run)
    found = subject(run)
    assert found.status == "invalid"
    assert found.problems == [found.problems[0], f"{layout.RUN}: has no place in a bundle"]


def test_an_unsealed_run_is_not_verified_and_shows_its_facts(tmp_path: Path) -> None:
    found = subject(make_run(tmp_path, start(), FINISHED[0], sealed=False))
    assert (found.status, found.state, found.run_id) == ("unverified", RunState.UNSEALED, RUN_ID)
    assert found.problems == []
    assert found.summary


def test_a_run_that_goes_on_is_running(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), FINISHED[0], sealed=False)
    with Folder(run / layout.SPOOL) as spool, holding(spool), opened(run) as folder:
        assert subject_of(folder).state is RunState.RUNNING


def test_a_record_whose_manifest_is_gone_is_unverified_and_keeps_its_name(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.MANIFEST).unlink()
    found = subject(run)
    assert (found.status, found.state, found.run_id) == ("unverified", RunState.DAMAGED, RUN_ID)
    assert "there is no manifest.json: this is not a sealed bundle" in found.problems
    assert found.summary is None


def test_a_manifest_that_is_no_manifest_is_invalid(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.MANIFEST).write_bytes(b"[]")
    found = subject(run)
    assert (found.status, found.summary) == ("invalid", None)
    assert found.problems[0].startswith("step 2")


def test_events_that_cannot_be_read_leave_a_report_without_a_summary(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.EVENTS).write_bytes(b"\x00\xff")
    found = subject(run)
    assert (found.status, found.summary) == ("invalid", None)
    assert str(tmp_path) not in " ".join(found.problems)


def test_what_is_no_record_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableBundleError, match="not a recording"):
        subject(tmp_path)


def test_the_summary_does_not_tell_where_the_record_lies(tmp_path: Path) -> None:
    run = make_run(tmp_path / "here")
    moved = shutil.copytree(run, tmp_path / "there" / run.name)
    assert subject(run) == subject(Path(moved))


def test_long_texts_and_lists_of_the_summary_are_cut(tmp_path: Path) -> None:
    long = ["sh", "-c", "x" * 100_000, *(str(number) for number in range(1000))]
    found = subject(make_run(tmp_path, start(*long), *FINISHED))
    assert len(canonical.encode(found.summary_in_page)) < 20_000
    assert found.summary
    assert found.summary["run"]["command"] == long  # what is counted is counted in all of it


def test_only_what_succeeded_is_reached_and_only_on_other_machines(tmp_path: Path) -> None:
    here = ["inet:127.0.0.1:80", "inet6:[::1]:443", "netlink:0", "inet:0.0.0.0:8080"]
    run = RunBuilder().process("sh")
    for address in (*here, "inet:198.51.100.7:443"):
        run.connected(address)
    run.call("send", "inet6:[2001:db8::1]:53")
    run.connected("inet:198.51.100.8:443", -errno.EINPROGRESS)
    run.connected("inet:198.51.100.9:443", -errno.ECONNREFUSED)
    found = subject(run.seal(tmp_path))
    assert found.reached == ["198.51.100.7:443", "[2001:db8::1]:53"]
    assert found.attempted == ["198.51.100.8:443"]
