"""Verdicts on records and on what was made of them: what `steno verify` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from steno import __version__
from steno.model.run import EXIT_CODES, RULES, STEPS, Run, Status, Step, Verdict
from steno.text.safe import visible
from steno.text.style import Paint
from steno.views import files as missing
from steno.views.files import ContentMissing

SCHEMA = "steno.verify.v1"
_PROBLEMS_SHOWN = 10
_ROLES = {Status.VALID: "good", Status.INCOMPLETE: "warning", Status.INVALID: "bad", Status.UNREADABLE: "bad"}
_RIGHT = {Status.VALID, Status.INCOMPLETE}
# What is shown to be forged outweighs what cannot be read, which outweighs what is only incomplete.
_WORST_FIRST = (Status.INVALID, Status.UNREADABLE, Status.INCOMPLETE, Status.VALID)


class Outcome(StrEnum):
    """Of what the maker of a copy concluded, held against what the rules of this Steno give."""

    SAME = "same"
    OTHER_RULES = "made by other rules"
    DIFFERENT = "not what these rules give"
    NOT_COMPARED = "not compared"


class PageStatus(StrEnum):
    """Of the page around its files: its head, its script."""

    SAME = "same"
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"


class SecondLook(NamedTuple):
    """At a page, or at exported tables, which have no page around them."""

    outcome: Outcome
    rules: int  # of whoever made it, as it says
    steno: str
    compared: int
    problems: list[str]
    page: PageStatus | None = None


class Judged(NamedTuple):
    word: str
    verdict: Verdict
    content_missing: Sequence[
        ContentMissing
    ] = ()  # written files; what is missing there is no gap, but is told
    looked_at: SecondLook | None = None  # of a copy whose evidence is right: what else it says

    @property
    def status(self) -> Status:
        """The worse of the verdict on the evidence, and of what it is worth that the rest was looked at."""
        rest = [] if self.looked_at is None else [_worth(self.looked_at)]
        return min([self.verdict.status, *rest], key=_WORST_FIRST.index)


def _worth(looked_at: SecondLook) -> Status:
    """What cannot be compared is not shown to be right."""
    if looked_at.outcome is Outcome.DIFFERENT:
        return Status.INVALID
    is_right = looked_at.outcome is Outcome.SAME and looked_at.page in {None, PageStatus.SAME}
    return Status.VALID if is_right else Status.INCOMPLETE


def unreadable(problem: str) -> Verdict:
    """The verdict on something that is no folder and no packed bundle."""
    return Verdict(Status.UNREADABLE, None, None, [Step(1, STEPS[1], passed=False, problems=[problem])], [])


def content_missing(run: Run, verdict: Verdict) -> list[ContentMissing]:
    """Of a bundle that is right as far as it goes."""
    if verdict.status not in _RIGHT or not run.has_kernel_layer:
        return []
    return missing.content_missing(run.files)


def exit_code(judged: Iterable[Judged]) -> int:
    found = {one.status for one in judged}
    return next((EXIT_CODES[status] for status in _WORST_FIRST if status in found), 0)


def to_json(judged: Iterable[Judged]) -> dict[str, Any]:
    judged = list(judged)
    return {"schema": SCHEMA, "exit_code": exit_code(judged), "verdicts": [_one(one) for one in judged]}


def lines(one: Judged, paint: Paint) -> Iterator[str]:
    verdict = one.verdict
    yield f"{paint(_ROLES[verdict.status], verdict.status.value)}  {visible(verdict.run_id or one.word)}"
    for step in verdict.steps:
        if not step.passed:
            yield from _failed(step)
    yield from (f"  {line}" for line in missing.missing_lines(one.content_missing))
    yield from (f"  {visible(note)}" for note in verdict.notes)
    if one.looked_at is not None:
        yield from _looked_at(one.looked_at, paint)
    if verdict.status in _RIGHT and verdict.root:
        yield f"  root {verdict.root}"


def _failed(step: Step) -> Iterator[str]:
    yield f"  step {step.number} failed; it asks that {step.says}"
    yield from _some(step.problems)


def _some(problems: Sequence[str]) -> Iterator[str]:
    for problem in problems[:_PROBLEMS_SHOWN]:
        yield f"    {visible(problem)}"
    if len(problems) > _PROBLEMS_SHOWN:
        yield f"    and {len(problems) - _PROBLEMS_SHOWN} more; --json has them all"


def _looked_at(found: SecondLook, paint: Paint) -> Iterator[str]:
    role = {Outcome.SAME: "good", Outcome.DIFFERENT: "bad"}.get(found.outcome, "warning")
    by = f"rules {found.rules} of Steno {found.steno}"
    here = f"rules {RULES} of Steno {__version__}"
    says = f"the {'stamp' if found.page is None else 'page'} says {by}"
    details = {
        Outcome.SAME: f"{says}; {here} give the same {found.compared} files",
        Outcome.OTHER_RULES: f"{says}; {here} give something else",
        Outcome.DIFFERENT: says,
        Outcome.NOT_COMPARED: f"{says}, and lacks evidence that they need",
    }
    if found.page is None:
        details[Outcome.OTHER_RULES] = f"{says}; not compared"
        details[Outcome.NOT_COMPARED] = f"{says}; its evidence is not here"
    yield f"  judgement: {paint(role, found.outcome.value)} ({visible(details[found.outcome])})"
    yield from _some(found.problems)
    if found.page is PageStatus.DIFFERENT:
        yield f"  {paint('warning', 'page: its head or its script is not what this Steno makes')}"
    elif found.page is PageStatus.NOT_COMPARED and found.outcome is not Outcome.DIFFERENT:
        yield "  page: its head and its script were not compared"


def _one(one: Judged) -> dict[str, Any]:
    verdict = one.verdict
    return {
        "run": one.word,
        "status": verdict.status.value,
        "exit_code": EXIT_CODES[one.status],
        "run_id": verdict.run_id,
        "root": verdict.root,
        "gaps": list(verdict.gaps),
        "notes": list(verdict.notes),
        "content_missing": [found.to_json() for found in one.content_missing],
        "steps": [step._asdict() for step in verdict.steps],
        **({} if one.looked_at is None else {"judgement": one.looked_at._asdict()}),
    }
