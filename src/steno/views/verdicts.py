"""Verdicts in words and as data: what `steno verify` prints.

In: the verdict on a bundle, with the word that named it. Out: lines that are safe to print, or JSON data, and
one exit code for several verdicts. Never judges: `bundle.verify` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from steno.bundle.folder import Folder
from steno.bundle.judged import JudgedFiles
from steno.bundle.verify import EXIT_CODES, STEPS, Status, Step, Verdict
from steno.evidence import layout
from steno.views import content_missing as missing
from steno.views.content_missing import ContentMissing
from steno.views.kernel_layer import read_files
from steno.views.paint import Paint
from steno.views.plain import visible

SCHEMA = "steno.verify.v1"
_PROBLEMS_SHOWN = 10
_ROLES = {Status.VALID: "good", Status.INCOMPLETE: "warning", Status.INVALID: "bad", Status.UNREADABLE: "bad"}
_RIGHT = {Status.VALID, Status.INCOMPLETE}
# What is shown to be forged outweighs what cannot be read, which outweighs what is only incomplete.
_WORST_FIRST = (Status.INVALID, Status.UNREADABLE, Status.INCOMPLETE, Status.VALID)


class Judged(NamedTuple):
    word: str
    verdict: Verdict
    content_missing: Sequence[
        ContentMissing
    ] = ()  # written files; what is missing there is no gap, but is told


def unreadable(problem: str) -> Verdict:
    """The verdict on something that is no folder and no packed bundle."""
    return Verdict(Status.UNREADABLE, None, None, [Step(1, STEPS[1], passed=False, problems=[problem])], [])


def content_missing(run: Folder, verdict: Verdict) -> list[ContentMissing]:
    """Of a bundle that is right as far as it goes."""
    if verdict.status not in _RIGHT or not run.has(layout.KERNEL_TABLE):
        return []
    return missing.content_missing(read_files(JudgedFiles.of(run)))


def exit_code(judged: Iterable[Judged]) -> int:
    found = {one.verdict.status for one in judged}
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
    yield from (f"  {line}" for line in missing.lines(one.content_missing))
    if verdict.status in _RIGHT and verdict.root:
        yield f"  root {verdict.root}"


def _failed(step: Step) -> Iterator[str]:
    yield f"  step {step.number} failed; it asks that {step.says}"
    for problem in step.problems[:_PROBLEMS_SHOWN]:
        yield f"    {visible(problem)}"
    if len(step.problems) > _PROBLEMS_SHOWN:
        yield f"    and {len(step.problems) - _PROBLEMS_SHOWN} more; --json has them all"


def _one(one: Judged) -> dict[str, Any]:
    verdict = one.verdict
    return {
        "run": one.word,
        "status": verdict.status.value,
        "exit_code": verdict.exit_code,
        "run_id": verdict.run_id,
        "root": verdict.root,
        "gaps": list(verdict.gaps),
        "content_missing": [found.to_json() for found in one.content_missing],
        "steps": [step._asdict() for step in verdict.steps],
    }
