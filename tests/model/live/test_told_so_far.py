"""The tables of calls of a run that goes on: what programs told up to now, and what was seen of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import steno
from steno.evidence import intake
from steno.model.run import Run
from support.claims_told import POLICY, closed, decided, ended, hook, opened, sdk
from support.live_runs import SECRET, LiveRun

TABLES = {"calls", "checks", "claims", "decisions", "effects", "messages"}


@pytest.fixture
def live(tmp_path: Path) -> LiveRun:
    return LiveRun(tmp_path, shim="auto")


def run_of(live: LiveRun) -> Run:
    return steno.open(live.path)


def test_a_run_that_goes_on_has_the_tables_of_calls(live: LiveRun) -> None:
    with run_of(live) as run:
        assert run.tables.keys() >= TABLES
        assert all(not list(run.tables[name]) for name in TABLES - {"effects"})


def test_what_policy_decided_and_agents_said_is_told_while_the_run_goes_on(live: LiveRun) -> None:
    live.told(POLICY, opened(), decided(), ended())
    live.told(intake.HOOKS, hook(tool_call_id="tc_hook"))
    with run_of(live) as run:
        assert [one.tool_call_id for one in run.decisions] == ["tc_runner_policy_001"]
        assert [one.tool_call_id for one in run.messages] == ["tc_hook"]
        assert {one.tool_call_id for one in run.calls} == {"tc_runner_policy_001", "tc_hook"}


def test_they_are_those_that_the_seal_would_make(live: LiveRun) -> None:
    live.told(POLICY, opened(), decided(), ended(), closed())
    with run_of(live) as run:
        (call,), (decision,) = run.calls, run.decisions
    assert (call.decision, call.started_ns, call.ended_ns) == (
        "allow",
        decision.started_ns,
        decision.ended_ns,
    )
    assert (call.window_told_by, decision.outcome) == ("policy", "result")


def test_a_call_that_is_open_has_no_outcome_yet(live: LiveRun) -> None:
    live.told(POLICY, opened(), decided())
    with run_of(live) as run:
        (decision,), (call,) = run.decisions, run.calls
    assert (decision.outcome, decision.ended_ns, call.decision_outcome) == (None, None, None)


def test_what_the_kernel_saw_after_the_last_word_is_still_of_the_run(live: LiveRun) -> None:
    live.told(POLICY, opened(), decided(at_ns=10))
    live.saw("unlink", "/gone", at=10**9)
    with run_of(live) as run:
        (call,) = run.calls
        assert call.ended_ns is not None
        assert call.ended_ns >= 10**9


def test_half_a_line_is_left_for_later_and_is_no_damage(live: LiveRun) -> None:
    live.told(POLICY, opened(), decided()[:-5])
    live.told(intake.SDK, sdk()[:-5])
    with run_of(live) as run:
        assert [len(run.decisions), len(run.messages), len(run.calls)] == [0, 0, 0]
    live.told(POLICY, decided()[-5:])
    with run_of(live) as run:
        assert len(run.decisions) == 1


def test_secrets_are_masked_before_the_run_is_sealed(live: LiveRun) -> None:
    live.told(intake.HOOKS, hook(input={"command": f"echo {SECRET.decode()}"}))
    live.told(POLICY, opened(), decided(arguments={"text": SECRET.decode()}))
    with run_of(live) as run:
        told = "".join(str(list(table)) for table in run.tables.values())
        (message,), (decision,) = run.messages, run.decisions
    assert SECRET.decode() not in told
    assert message.input
    assert decision.arguments
    assert "echo [" in message.input, message.input


def test_where_nobody_knows_what_is_secret_arguments_are_left_out(tmp_path: Path) -> None:
    live = LiveRun(tmp_path, observer="none", shim="auto")
    live.told(intake.HOOKS, hook(input={"command": "echo words"}))
    with run_of(live) as run:
        (message,) = run.messages
        assert (message.tool, message.input) == ("Bash", None)


def test_a_wrecked_intake_tells_nothing_and_breaks_nothing(live: LiveRun, tmp_path: Path) -> None:
    (live.intake / intake.HOOKS).symlink_to(tmp_path / "elsewhere")
    (live.intake / intake.SDK).write_bytes(b"\xff" * 100 + b"\n")
    (live.intake / POLICY).mkdir()
    with run_of(live) as run:
        assert list(run.calls) == []


def test_a_run_whose_recorder_is_gone_tells_its_calls_too(live: LiveRun) -> None:
    live.told(POLICY, opened(), decided())
    live.let_go()
    with run_of(live) as run:
        assert len(run.calls) == 1
