"""Verdicts in words: what failed, by number, and one exit code for several."""

from __future__ import annotations

import pytest

from steno.bundle.verify import STEPS, Status, Step, Verdict
from steno.text.style import Paint
from steno.views import verify
from steno.views.verify import Judged, Outcome, PageStatus, SecondLook


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
    assert verify.exit_code(Judged("x", verdict(status)) for status in found) == code


@pytest.mark.parametrize(
    ("outcome", "page", "code", "words"),
    [
        (Outcome.SAME, PageStatus.SAME, 0, "judgement: same ("),
        (Outcome.SAME, PageStatus.NOT_COMPARED, 3, "its script were not compared"),
        (Outcome.SAME, PageStatus.DIFFERENT, 3, "is not what this Steno makes"),
        (Outcome.OTHER_RULES, PageStatus.NOT_COMPARED, 3, "judgement: made by other rules ("),
        (Outcome.NOT_COMPARED, PageStatus.NOT_COMPARED, 3, "judgement: not compared ("),
        (Outcome.DIFFERENT, PageStatus.NOT_COMPARED, 1, "judgement: not what these rules give ("),
    ],
)
def test_what_a_report_says_beside_its_evidence_has_a_word_and_an_exit_code(
    outcome: Outcome, page: PageStatus, code: int, words: str
) -> None:
    looked_at = SecondLook(outcome, 7, "9\x1b[2J", 12, ["files.json: is other"], page)
    one = Judged("x", verdict(Status.VALID), looked_at=looked_at)
    text = "\n".join(verify.lines(one, Paint()))
    assert text.startswith("valid ")
    assert words in text
    assert "rules 7 of Steno 9\\x1b[2J" in text
    assert "    files.json: is other" in text
    assert verify.exit_code([one]) == code
    told = verify.to_json([one])["verdicts"][0]
    assert (told["status"], told["exit_code"], told["judgement"]["outcome"]) == ("valid", code, outcome.value)
    incomplete = one._replace(verdict=verdict(Status.INCOMPLETE))
    assert verify.exit_code([incomplete]) == (code or 3)


def test_a_failing_step_is_told_with_its_number() -> None:
    lines = list(verify.lines(Judged("x", verdict(Status.INVALID, "run.json: differs\x1b[2J")), Paint()))
    assert lines == [
        "invalid  run",
        f"  step 4 failed; it asks that {STEPS[4]}",
        "    run.json: differs\\x1b[2J",
    ]


def test_a_flood_of_problems_is_counted() -> None:
    lines = list(verify.lines(Judged("x", verdict(Status.INVALID, *map(str, range(500)))), Paint()))
    assert len(lines) == 13
    assert lines[-1] == "    and 490 more; --json has them all"


def test_what_cannot_be_opened_is_unreadable() -> None:
    found = verify.to_json([Judged("x", verify.unreadable("no such thing"))])
    assert (found["exit_code"], found["verdicts"][0]["status"]) == (4, "unreadable")
    assert found["verdicts"][0]["steps"][0]["problems"] == ["no such thing"]
