"""The tables of a run that goes on: what the kernel saw up to now."""

from __future__ import annotations

from pathlib import Path

import pytest

import steno
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import layout
from steno.model.run import Run
from support.live_runs import SECRET, LiveRun

KERNEL_TABLES = {"connections", "events", "execs", "files", "processes", "repositories"}


@pytest.fixture
def live(tmp_path: Path) -> LiveRun:
    return LiveRun(tmp_path, ignored=["/ignored"])


def opened(live: LiveRun) -> Run:
    return steno.open(live.path)


def test_a_run_that_goes_on_has_the_tables_of_the_kernel_layer(live: LiveRun) -> None:
    live.saw("open", "/a", arg=0o101)
    live.saw("connect", "inet:1.2.3.4:80", result=-111)
    with opened(live) as run:
        assert run.tables.keys() >= KERNEL_TABLES
        (process,) = run.processes
        assert (process.label, process.exit_code, process.still_running) == ("sh", None, True)
        assert [(one.name, one.errors) for one in run.connections] == [("1.2.3.4:80", ["ECONNREFUSED"])]
        assert [one.operation for one in run.events][-2:] == ["open", "connect"]


def test_how_a_run_that_goes_on_leaves_its_files_is_not_known_yet(live: LiveRun) -> None:
    live.saw("unlink", "/gone")
    with opened(live) as run:
        (file,) = run.files
    assert (file.path, file.letter, file.change, file.after.kind) == ("/gone", "?", "unknown", None)


def test_what_comes_after_somebody_asked_is_told_when_the_run_is_opened_again(live: LiveRun) -> None:
    with opened(live) as run:
        before = len(run.events)
        live.saw("unlink", "/gone")
        assert len(run.events) == before
    with opened(live) as run:
        assert len(run.events) == before + 1


@pytest.mark.parametrize("path", ["/ignored/x", "/repo/.git/index", "relative", "/a/../b"])
def test_what_no_sealed_run_has_among_its_files_a_run_that_goes_on_has_not(live: LiveRun, path: str) -> None:
    live.saw("unlink", path)
    with opened(live) as run:
        assert list(run.files) == []


def test_secrets_are_masked_in_every_table_before_the_run_is_sealed(live: LiveRun) -> None:
    live.saw("unlink", b"/" + SECRET)
    live.saw("exec", "/bin/sh", extra=b"sh\0-c\0echo " + SECRET + b"\0")
    with opened(live) as run:
        told = "".join(str(list(table)) for table in run.tables.values())
    assert SECRET.decode() not in told
    assert "*" * len(SECRET) in told


def test_without_the_local_key_nothing_of_the_kernel_is_told(
    live: LiveRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another"))
    with opened(live) as run, pytest.raises(BadRequestError, match="still going on"):
        list(run.processes)


def test_frames_that_cannot_be_read_are_an_error_with_a_hint(live: LiveRun) -> None:
    (live.path / layout.SPOOL / "kernel/header.bin").write_bytes(b"nothing of ours")
    with opened(live) as run, pytest.raises(UnreadableBundleError) as raised:
        list(run.processes)
    assert "ask again" in raised.value.hint


def test_a_run_whose_recorder_is_gone_has_the_tables_before_it_is_recovered(live: LiveRun) -> None:
    live.saw("unlink", "/gone")
    live.let_go()
    with opened(live) as run:
        assert [file.path for file in run.files] == ["/gone"]
        assert [one.still_running for one in run.processes] == [False]
