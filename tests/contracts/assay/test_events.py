"""The two events of a run in the words of assay-runner, and the events that they carry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.contracts.assay import events as assay_events
from steno.contracts.assay.events import BadRunEventsError
from steno.evidence import kinds
from steno.evidence.kinds import EventData
from support.spools import RUN_ID, START, numbered, start

ROOT = "0" * 64


def told(*events: EventData) -> bytes:
    return b"".join(assay_events.run_events(RUN_ID, assay_events.carried(ROOT, numbered(events))))


def lines(*events: EventData) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told(*events).splitlines()]


def ended(code: int | None, signal: str | None = None, *, completed: bool = True) -> dict[str, Any]:
    finished = [] if code is None else [kinds.CommandFinished(exit_code=code, signal=signal)]
    return lines(START, *finished, kinds.RunFinish(exit_code=code, completed=completed))[1]


def test_the_first_line_tells_what_was_started() -> None:
    first, _ = lines(start(shim="none"), kinds.RunFinish(exit_code=0, completed=True))
    assert first == {
        "schema": "assay.runner.event.v0",
        "run_id": RUN_ID,
        "seq": 0,
        "type": "run_started",
        "agent_shim": "none",
        "command": ["sh", "-c", "echo one two"],
        "env_keys": ["EDITOR", "HOME", "SECRET_NAME"],
        "window_elapsed_ms": 0,
    }


def test_the_second_line_tells_how_it_ended_and_when() -> None:
    line = ended(0)
    assert (line["seq"], line["type"], line["run_id"]) == (1, "run_finished", RUN_ID)
    assert (line["exit_code"], line["signal"], line["success"]) == (0, None, True)
    assert line["window_elapsed_ms"] == 2


@pytest.mark.parametrize(
    ("code", "signal", "told_code", "told_signal", "success"),
    [
        (3, None, 3, None, False),
        (137, "SIGKILL", None, 9, False),
        (137, None, 137, None, False),
        (None, None, None, None, False),
    ],
)
def test_only_a_command_that_ended_well_is_a_success(
    code: int | None, signal: str | None, told_code: int | None, told_signal: int | None, *, success: bool
) -> None:
    line = ended(code, signal, completed=code is not None)
    assert (line["exit_code"], line["signal"], line["success"]) == (told_code, told_signal, success)


def test_a_run_that_was_not_recorded_to_its_end_is_no_success() -> None:
    assert ended(0, completed=False)["success"] is False


def test_the_lines_carry_what_the_health_is_made_of_and_nothing_of_other_layers() -> None:
    finish = kinds.RunFinish(exit_code=0, completed=True)
    gap = kinds.Gap(reason="terminal_held", detail="x")
    _, line = lines(START, kinds.TerminalResized(1, 2), kinds.ToolVersions({}), gap, finish)
    assert [event["type"] for event in line["steno"]["events"]] == ["run_start", "gap", "run_finish"]
    assert line["steno"]["bundle_root"] == ROOT


def test_the_lines_give_the_events_back() -> None:
    finish = kinds.RunFinish(exit_code=0, completed=True)
    events = numbered([START, kinds.Gap(reason="git", detail="x"), finish])
    found = assay_events.parse(RUN_ID, told(START, kinds.Gap(reason="git", detail="x"), finish))
    assert found == assay_events.Carried(ROOT, events)


def test_lines_of_another_run_are_refused() -> None:
    with pytest.raises(BadRunEventsError, match="another run"):
        assay_events.parse(
            "2026-01-25T12-00-00-000Z_ffffffff", told(START, kinds.RunFinish(0, completed=True))
        )


@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BadRunEventsError):
        assay_events.parse(RUN_ID, data)
