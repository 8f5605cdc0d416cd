"""Verdicts in words: what failed, by number, and one exit code for several."""

from __future__ import annotations

import pytest

from steno.bundle.verify import STEPS, Status, Step, Verdict
from steno.views import verdicts
from steno.views.paint import Paint
from steno.views.verdicts import Judged


def verdict(status: Status, *problems: str) -> Verdict:
    steps = [Step(1, STEPS[1], passed=True, problems=[])]
    if problems:
        steps.append(Step(4, STEPS[4], passed=False, problems=list(problems)))
    return Verdict(status, "run", "root", steps, [])


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([Status.VALID], 0),
        ([Status.VALID, Status.INCOMPLETE], 3),
        ([Status.INCOMPLETE, Status.UNREADABLE], 4),
        ([Status.UNREADABLE, Status.INVALID, Status.VALID], 1),
        ([], 0),
    ],
)
def test_several_verdicts_have_the_exit_code_of_the_worst(found: list[Status], code: int) -> None:
    assert verdicts.exit_code(Judged("x", verdict(status)) for status in found) == code


def test_a_failing_step_is_told_with_its_number() -> None:
    lines = list(verdicts.lines(Judged("x", verdict(Status.INVALID, "run.json: differs\x1b[2J")), Paint()))
    assert lines == [
        "invalid  run",
        f"  step 4 failed; it asks that {STEPS[4]}",
        "    run.json: differs\\x1b[2J",
    ]


def test_a_flood_of_problems_is_counted() -> None:
    lines = list(verdicts.lines(Judged("x", verdict(Status.INVALID, *map(str, range(500)))), Paint()))
    assert len(lines) == 13
    assert lines[-1] == "    and 490 more; --json has them all"


def test_what_cannot_be_opened_is_unreadable() -> None:
    found = verdicts.to_json([Judged("x", verdicts.unreadable("no such thing"))])
    assert (found["exit_code"], found["verdicts"][0]["status"]) == (4, "unreadable")
    assert found["verdicts"][0]["steps"][0]["problems"] == ["no such thing"]
