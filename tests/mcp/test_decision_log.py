"""Decisions are written down before they are acted upon, and what cannot be written is an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steno.capture import procfs
from steno.capture.procfs import start_ticks
from steno.evidence import intake
from steno.mcp import decision_log
from steno.mcp.decision_log import MAX_TEXT, OUTSIDE, DecisionLog, DecisionLogError, Masker
from support.mcp_wrapped import told_in

NOTICED = intake.Noticed(run_id="r", connection="c", at_ns=1, kind="k", detail="d")


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no process that we descend from were in a run."""
    monkeypatch.setattr(procfs, "environ", lambda *_: {})


def run_told(folder: Path) -> dict[str, str]:
    return {intake.RUN_ID: "r1", intake.FOLDER: str(folder), intake.ORIGIN_NS: "1000"}


def own_log(folder: Path) -> Path:
    return folder / intake.policy_log(os.getpid(), start_ticks(os.getpid()) or 0)


def test_inside_of_a_run_its_intake_is_told(tmp_path: Path) -> None:
    journal = DecisionLog.open(run_told(tmp_path))
    journal.append(NOTICED, NOTICED)
    assert told_in(own_log(tmp_path)) == [NOTICED, NOTICED]
    assert journal.run_id == "r1"
    assert journal.now() > 0


def test_a_log_of_its_own_is_told_as_well(tmp_path: Path) -> None:
    journal = DecisionLog.open(run_told(tmp_path), str(tmp_path / "log"))
    journal.append(NOTICED)
    assert told_in(tmp_path / "log") == told_in(own_log(tmp_path)) == [NOTICED]


def test_the_log_of_a_run_is_made_by_us_and_one_that_is_there_is_somebody_elses(tmp_path: Path) -> None:
    DecisionLog.open(run_told(tmp_path)).close()
    with pytest.raises(DecisionLogError, match="File exists"):
        DecisionLog.open(run_told(tmp_path))


def test_outside_of_a_run_nobody_is_told(outside: None) -> None:
    journal = DecisionLog.open({})
    journal.append(NOTICED)
    assert not journal.is_kept
    assert journal.run_id == OUTSIDE


def test_lines_are_added_to_a_log_that_is_there(tmp_path: Path, outside: None) -> None:
    for _ in range(2):
        journal = DecisionLog.open({}, str(tmp_path / "log"))
        journal.append(NOTICED)
        journal.close()
    assert len(told_in(tmp_path / "log")) == 2


def test_a_log_is_private_and_never_behind_a_link(tmp_path: Path, outside: None) -> None:
    DecisionLog.open({}, str(tmp_path / "log"))
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "log")
    with pytest.raises(DecisionLogError):
        DecisionLog.open({}, str(tmp_path / "link"))


def test_what_cannot_be_written_is_an_error(outside: None) -> None:
    with pytest.raises(DecisionLogError, match="No space left on device"):
        DecisionLog.open({}, "/dev/full").append(NOTICED)


def test_what_need_not_be_written_is_said_once(outside: None, capsys: pytest.CaptureFixture[str]) -> None:
    journal = DecisionLog.open({}, "/dev/full", optional=True)
    journal.append(NOTICED)
    journal.append(NOTICED)
    assert capsys.readouterr().err.count("cannot write decisions") == 1


def test_a_log_that_need_not_open_is_said_to_be_missing(
    tmp_path: Path, outside: None, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = DecisionLog.open({}, str(tmp_path / "no" / "log"), optional=True)
    journal.append(NOTICED)
    assert "cannot write decisions" in capsys.readouterr().err


def test_a_line_after_a_torn_one_is_whole(
    tmp_path: Path, outside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = DecisionLog.open({}, str(tmp_path / "log"))
    whole = os.write

    def half(fd: int, data: bytes) -> int:
        return whole(fd, data[: len(data) // 2])

    with monkeypatch.context() as patched:
        patched.setattr("os.write", half)
        with pytest.raises(DecisionLogError):
            journal.append(NOTICED)
    journal.append(NOTICED)
    assert (tmp_path / "log").read_bytes().splitlines(keepends=True)[-1] == intake.write(NOTICED)


def test_the_run_is_found_through_the_processes_before_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {1: {}, 2: run_told(tmp_path), 3: run_told(tmp_path / "outer")}
    monkeypatch.setattr(procfs, "ancestors", lambda _: iter([1, 2, 3]))
    monkeypatch.setattr(procfs, "environ", lambda pid, _: told.get(pid, {}))
    found = decision_log.find_run({})
    assert found is not None
    assert found.folder == str(tmp_path)


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker({"MY_TOKEN": "correct-horse-battery-staple"})


class TestArguments:
    def test_without_secrets_are_kept_as_they_are(self, masker: Masker) -> None:
        kept = masker.keep({"path": "/a", "n": [1, None, True]}, 100)
        assert (bytes(kept.arguments), kept.cut) == (b'{"path":"/a","n":[1,null,true]}', False)

    @pytest.mark.parametrize(
        ("arguments", "secret"),
        [
            ({"password": "hunter2hunter2"}, b"hunter2"),
            ({"text": "ghp_EXAMPLEexample0123456789EXAMPLEexample"}, b"0123456789"),
            ({"deep": [{"note": "it is correct-horse-battery-staple"}]}, b"battery"),
            ({"text": "correct-horse-battery-staple" + "x" * 300_000}, b"battery"),
            ({"text": "a" * (MAX_TEXT - 10) + " password: hunter2hunter2 " + "x" * 300_000}, b"hunter2"),
        ],
    )
    def test_lose_their_secrets(self, masker: Masker, arguments: dict[str, str], secret: bytes) -> None:
        kept = masker.keep(arguments, 400_000 if len(str(arguments)) > 1000 else 100)
        assert kept.arguments is not None
        assert secret not in bytes(kept.arguments)

    def test_that_are_absent_are_not_cut(self, masker: Masker) -> None:
        assert masker.keep(None, 10**9) == (None, False)
