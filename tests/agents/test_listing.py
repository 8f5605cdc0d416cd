"""Agents, runs and attempts as a list: by the register, whatever stands in the run directory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steno.agents.known import builtin
from steno.contracts.agent_audit.meta import describe
from steno.errors import BadRequestError, RunNotFoundError
from steno.launch.finish import keep_meta
from steno.launch.run_dirs import PreparedRun, prepare_run
from steno.launch.status import (
    all_agents,
    all_runs,
    attempt_left,
    lines_of_agents,
    lines_of_list,
    lines_of_status,
    one_attempt,
    one_run,
)
from support.attempts_made import ended_well

NOW = datetime(2026, 1, 25, 12, tzinfo=UTC)


@pytest.fixture
def prepared(tmp_path: Path) -> Iterator[PreparedRun]:
    with prepare_run(tmp_path, "codex", None, now=NOW) as prepared:
        yield prepared


def finish(root: Path, prepared: PreparedRun, **how: Any) -> None:
    prepared.audit.write("stdout", lambda: [b"out\n"])
    completion = {
        "state": "completed",
        "reasonCode": "DONE_MARKER_FOUND",
        "needsUserInput": False,
        "source": "stdout",
        "diagnostics": ["DONE_SIGNAL_NOT_FOUND"],
    }
    known = msgspec.structs.replace(prepared.entry.known, completion=how.pop("completion", completion))
    keep_meta(root, prepared, describe(known, ended_well(**how)))


def status(root: Path, prepared: PreparedRun) -> str:
    return "\n".join(lines_of_status(one_run(root, prepared.name.run_id)))


def test_a_root_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert all_runs(tmp_path / "nowhere") == []
    assert list(lines_of_list([])) == []


def test_an_attempt_without_meta_is_running_while_it_is_held_and_crashed_after(tmp_path: Path) -> None:
    with prepare_run(tmp_path, "codex", None, now=NOW) as prepared:
        assert one_run(tmp_path, prepared.name.suffix)["attempts"] == [{"number": 1, "state": "running"}]
    (run,) = all_runs(tmp_path)
    assert run["attempts"] == [{"number": 1, "state": "crashed"}]
    assert list(lines_of_list([run]))[1:] == [f"{run['runId']}  1        crashed"]


def test_an_attempt_is_told_the_same_wherever_it_is_told(tmp_path: Path, prepared: PreparedRun) -> None:
    finish(tmp_path, prepared)
    (run,) = all_runs(tmp_path)
    assert run == one_run(tmp_path, prepared.name.suffix)
    assert prepared.entry.meta is not None
    made = one_attempt(prepared.entry.meta)
    assert made.pop("attempt") == run.pop("attempts")[0]
    assert made == run
    assert "attempt 1  completed (DONE_MARKER_FOUND)" in status(tmp_path, prepared)


FORGED_META = '{"forged": true}'


def test_forged_files_are_told_and_not_believed(tmp_path: Path, prepared: PreparedRun) -> None:
    finish(tmp_path, prepared)
    told = one_run(tmp_path, prepared.name.run_id)
    for name in ("meta.1.json", "meta.7.json", "stdin.1.log"):
        (prepared.audit_dir / name).write_text(FORGED_META)
    (prepared.audit_dir / "stdout.1.log").unlink()
    half = ".stderr.1.log.0123456789abcdef"
    (prepared.audit_dir / half).write_text("half")
    run = one_run(tmp_path, prepared.name.run_id)
    (attempt,) = run["attempts"]
    assert run["notOurs"] == ["meta.7.json", "stdin.1.log"]
    assert {key: attempt.pop(key) for key in ("changed", "missing", "halfWritten")} == {
        "changed": ["meta.1.json"],
        "missing": ["stdout.1.log"],
        "halfWritten": [half],
    }
    assert attempt == told["attempts"][0]
    text = status(tmp_path, prepared)
    assert "changed since it was written: meta.1.json" in text
    assert "missing: stdout.1.log" in text
    assert f"half written: {half}" in text
    assert "not ours: meta.7.json" in text


@pytest.mark.parametrize("bad", ["a file", "a link", "gone"])
def test_an_audit_folder_that_is_none_breaks_no_list(tmp_path: Path, prepared: PreparedRun, bad: str) -> None:
    finish(tmp_path, prepared)
    told = all_runs(tmp_path)
    prepared.audit_dir.rename(prepared.run_dir / "moved")
    if bad == "a file":
        prepared.audit_dir.write_text("")
    elif bad == "a link":
        prepared.audit_dir.symlink_to(prepared.run_dir / "moved")
    assert all_runs(tmp_path) == told
    run = one_run(tmp_path, prepared.name.run_id)
    assert ".audit" in run.pop("problem")
    assert run == told[0]
    assert ".audit" in status(tmp_path, prepared)


@pytest.mark.parametrize(
    ("became", "told"),
    [
        ("gone", "its directory is gone"),
        ("a link", "its directory is a link now"),
        ("a file", "its directory is none any more"),
        ("gone with all runs", "its directory is gone"),
    ],
)
def test_a_run_whose_directory_its_agent_took_away_is_told_by_the_register(
    tmp_path: Path, prepared: PreparedRun, became: str, told: str
) -> None:
    finish(tmp_path, prepared)
    (before,) = all_runs(tmp_path)
    assert prepared.directory_problem() is None
    taken = prepared.run_dir.parent if became == "gone with all runs" else prepared.run_dir
    taken.rename(tmp_path / "moved")
    if became == "a link":
        prepared.run_dir.symlink_to(tmp_path / "moved")
    elif became == "a file":
        prepared.run_dir.write_text("")
    assert all_runs(tmp_path) == [before | {"problem": told}]
    for selector in (prepared.name.run_id, prepared.name.suffix, str(prepared.run_dir)):
        assert one_run(tmp_path, selector) == before | {"problem": told}
    assert list(lines_of_list(all_runs(tmp_path)))[1:] == [
        f"{before['runId']}  1        completed (DONE_MARKER_FOUND)",
        f"  {told}",
    ]
    assert told in status(tmp_path, prepared)
    assert prepared.directory_problem() == told
    with pytest.raises(RunNotFoundError, match=told):
        attempt_left(tmp_path, prepared.name.suffix, None)


def test_another_directory_in_the_place_of_the_run_is_noticed(tmp_path: Path, prepared: PreparedRun) -> None:
    prepared.run_dir.rename(tmp_path / "moved")
    prepared.run_dir.mkdir()
    assert prepared.directory_problem() == "its directory is another one now"


def test_the_newest_of_the_runs_of_one_second_comes_first(tmp_path: Path) -> None:
    made = []
    for number in range(8):
        with prepare_run(tmp_path, "codex", None, now=NOW.replace(microsecond=number)) as prepared:
            made.append(prepared.name.run_id)
    assert [run["runId"] for run in all_runs(tmp_path)] == made[::-1]


def test_gaps_in_the_recording_are_told(tmp_path: Path, prepared: PreparedRun) -> None:
    finish(tmp_path, prepared, complete=False, gaps=("processes_outlived", "sync_failed"))
    (attempt,) = one_run(tmp_path, prepared.name.suffix)["attempts"]
    assert (attempt["complete"], attempt["gaps"]) == (False, ["processes_outlived", "sync_failed"])
    assert "the record has gaps: processes_outlived, sync_failed" in status(tmp_path, prepared)


def test_a_register_that_cannot_be_read_is_a_problem_of_its_own_run(
    tmp_path: Path, prepared: PreparedRun
) -> None:
    finish(tmp_path, prepared)
    with prepare_run(tmp_path, "codex", None, now=NOW) as other:
        finish(tmp_path, other)
    register = tmp_path / "metadata" / "attempts" / other.name.run_id
    register.rename(tmp_path / "moved")
    register.write_text("")
    runs = {run["runId"]: run for run in all_runs(tmp_path)}
    assert "problem" not in runs[prepared.name.run_id]
    assert "the register of the run cannot be read" in "\n".join(lines_of_list(list(runs.values())))
    assert "the register of the run cannot be read" in status(tmp_path, other)


def test_a_damaged_entry_is_told(tmp_path: Path, prepared: PreparedRun) -> None:
    (tmp_path / "metadata" / "attempts" / prepared.name.run_id / "1.json").write_text("{")
    text = status(tmp_path, prepared)
    assert "attempt 1  damaged" in text
    assert "1.json cannot be read" in text


@pytest.mark.parametrize(
    ("started", "told"),
    [(False, "not started: No such file"), (True, "its end is not known: No such file")],
)
def test_only_an_agent_that_was_not_started_is_said_to_be(
    tmp_path: Path, prepared: PreparedRun, started: bool, told: str
) -> None:
    finish(tmp_path, prepared, completion=None, started=started, error="No such file")
    assert f"attempt 1  {told}" in status(tmp_path, prepared)


def test_a_run_directory_without_attempts_has_none(tmp_path: Path) -> None:
    (tmp_path / "runs" / "20260125T120000-codex-00000001").mkdir(parents=True)
    (run,) = all_runs(tmp_path)
    assert run["attempts"] == []
    assert list(lines_of_list([run]))[1].endswith("  -        no attempt")


def test_a_word_that_names_no_run_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(RunNotFoundError):
        one_run(tmp_path, "nothing")


def test_agents_are_listed_with_their_program_or_what_is_wrong(tmp_path: Path) -> None:
    described, programs = tmp_path / "steno" / "agents", tmp_path / "programs"
    described.mkdir(parents=True)
    programs.mkdir()
    (described / "broken.toml").write_text("program = 1")
    (programs / "codex").write_text("#!/bin/sh\n")
    (programs / "codex").chmod(0o755)
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "PATH": str(programs)}
    agents = {agent["name"]: agent for agent in all_agents(tmp_path / "root", environ)}
    assert list(agents) == sorted(["broken", *builtin()])
    assert agents["codex"]["program"] == str(programs / "codex")
    assert "problem" not in agents["codex"]
    assert (agents["claude"]["program"], "not installed" in agents["claude"]["problem"]) == (None, True)
    text = "\n".join(lines_of_agents(list(agents.values())))
    assert text.startswith("AGENT     PROGRAM\nbroken    ")
    assert "broken.toml: " in text
    assert f"\ncodex     {programs / 'codex'}\n" in text
    assert f"\n          install it: {agents['claude']['install']}\n" in text


def runs_made(*states: str) -> list[dict[str, Any]]:
    return [
        {
            "runId": f"20260125T120000-{agent}-0000000{number}",
            "attempts": [{"number": number, "state": state}],
            "problem": "its directory is gone, and nobody knows where it went",
        }
        for number, (agent, state) in enumerate(zip(("codex", "opencode"), states, strict=True), 1)
    ]


def test_runs_stand_in_columns_under_headings() -> None:
    first, second, _, third, _ = lines_of_list(runs_made("crashed", "running"))
    assert first == "RUN                                ATTEMPT  ENDED"
    assert second == "20260125T120000-codex-00000001     1        crashed"
    assert third == "20260125T120000-opencode-00000002  2        running"


@pytest.mark.parametrize("width", [10, 24, 40, 60, 80])
def test_no_line_of_the_list_is_wider_than_the_terminal(width: int) -> None:
    runs = runs_made("x" * 100, "\x1b[2J" + "y" * 100)
    agents = [
        {"name": "codex", "program": "/a/path/" + "z" * 100},
        {"name": "claude", "problem": "it is not installed, and " * 5, "install": "npm install it"},
    ]
    listed = list(lines_of_list(runs, width=width))
    told = list(lines_of_agents(agents, width=width))
    assert max(map(len, [*listed, *told])) <= width
    assert "\x1b" not in "".join(listed)
    assert "".join(told).replace(" ", "").count("z") == 100, "where an agent is, is never cut"


def test_a_narrow_terminal_has_two_lines_a_run() -> None:
    lines = list(lines_of_list(runs_made("crashed", "running"), width=48))
    assert lines[:2] == ["crashed", "  20260125T120000-codex-00000001 attempt 1"]


@pytest.mark.parametrize("rules", [{"parser": "codex", "fromTomorrow": 1}, {"parser": "of-tomorrow"}])
def test_an_attempt_judged_by_rules_of_a_newer_steno_is_listed_and_not_judged_again(
    tmp_path: Path, prepared: PreparedRun, rules: dict[str, Any]
) -> None:
    prepared.keep(known=msgspec.structs.replace(prepared.entry.known, rules=rules))
    finish(tmp_path, prepared)
    for part in ("stderr", "pty-output", "stdin"):
        prepared.audit.write(part, lambda: [b""])
    told = status(tmp_path, prepared)
    assert "attempt 1  completed (DONE_MARKER_FOUND)" in told
    assert "it cannot be judged again: " in told
    with pytest.raises(BadRequestError):
        attempt_left(tmp_path, prepared.name.run_id, None)
