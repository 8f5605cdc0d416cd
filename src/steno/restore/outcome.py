"""What came of a plan, in words and as data. No line is safe for a terminal yet: names are as they are."""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from steno.restore.plan import Change, Do, Plan, Problem, Step
from steno.restore.tasks import Direction

_VERBS = {
    Do.RENAME: "rename",
    Do.EXCHANGE: "exchange",
    Do.REMOVE: "remove",
    Do.REMOVE_DIRECTORY: "remove directory",
    Do.MAKE_DIRECTORY: "make directory",
    Do.WRITE: "write",
    Do.LINK: "make link",
    Do.HARD_LINK: "link",
    Do.SET: "set mode and time of",
}
# what the run did -> what has now been done about it
_DONE = {
    Direction.UNDO: {
        "created": "created removed",
        "modified": "modified restored",
        "deleted": "deleted brought back",
        "metadata": "metadata restored",
        "renamed": "renamed back",
    },
    Direction.RESTORE: {
        "created": "created brought back",
        "modified": "modified restored",
        "deleted": "deleted removed",
        "metadata": "metadata restored",
        "renamed": "renamed again",
    },
}
_SHOWN = 5
_PAST = {Direction.UNDO: "undone", Direction.RESTORE: "restored"}


class Outcome(NamedTuple):
    """`failed` is None when nothing was tried: a dry run, or a refusal.

    `not_kept` are paths that the run changed and of which the record has no state: nothing can be done.
    """

    plan: Plan
    failed: list[Problem] | None
    not_kept: Sequence[Problem] = ()
    trash: Sequence[bytes] = ()  # directories that hold what was taken away

    @property
    def exit_code(self) -> int:
        return 0 if self.plan.is_clear and not self.failed else 1

    @property
    def done(self) -> list[Change]:
        if self.failed is None:
            return []
        unsuccessful = {problem.path for problem in self.failed}
        return [change for change in self.plan.changes if change.path not in unsuccessful]


def plan_lines(plan: Plan) -> Iterator[str]:
    """What a dry run prints."""
    for step in plan.steps:
        between = "with" if step.do is Do.EXCHANGE else "to"
        source = f"{os.fsdecode(step.source)} {between} " if step.source else ""
        yield f"{_VERBS[step.do]} {source}{os.fsdecode(step.path)}"
    yield from problem_lines("conflict", plan.conflicts)
    yield from problem_lines("impossible", plan.impossible)
    yield from problem_lines("overruled", plan.overruled)
    yield from problem_lines("note", plan.notes)


def not_kept_lines(outcome: Outcome) -> Iterator[str]:
    word = f"not {_PAST[outcome.plan.direction]}"
    yield from problem_lines(word, outcome.not_kept[:_SHOWN])
    more = len(outcome.not_kept) - _SHOWN
    if more > 0:
        yield f"{word}: {more} more; `steno files RUN --all` lists them"


def trash_lines(outcome: Outcome) -> Iterator[str]:
    for place in outcome.trash:
        yield f"what was taken away is in {os.fsdecode(place)}"


def problem_lines(word: str, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        yield f"{word}: {os.fsdecode(problem.path)}: {problem.why}"


def summary_line(outcome: Outcome) -> str:
    """`undone 3 files (1 created removed, 2 modified restored)`, and what was not."""
    if not outcome.not_kept:
        return _done_line(outcome)
    count = len(outcome.not_kept)
    paths = "1 path whose state is not kept" if count == 1 else f"{count} paths whose states are not kept"
    return f"{_done_line(outcome)}; not {_PAST[outcome.plan.direction]}: {paths}"


def _done_line(outcome: Outcome) -> str:
    direction = outcome.plan.direction
    done = outcome.done
    if not done:
        return "nothing to do" if outcome.exit_code == 0 else f"nothing was {_PAST[direction]}"
    directories = sum(change.directory for change in done)
    files = len(done) - directories
    counted = [
        _counted(number, one, many)
        for number, one, many in ((files, "file", "files"), (directories, "directory", "directories"))
        if number
    ]
    kinds = Counter(change.did for change in done)
    details = ", ".join(f"{kinds[did]} {words}" for did, words in _DONE[direction].items() if kinds[did])
    return f"{_PAST[direction]} {' and '.join(counted)} ({details})"


def to_json(outcome: Outcome, run_id: str | None) -> dict[str, Any]:
    plan = outcome.plan
    return {
        "run_id": run_id,
        "direction": str(plan.direction),
        "applied": outcome.failed is not None,
        "says": summary_line(outcome),
        "steps": [_step(step) for step in plan.steps],
        "done": [{**_named(change.path), "did": change.did} for change in outcome.done],
        "conflicts": _problems(plan.conflicts),
        "impossible": _problems(plan.impossible),
        "overruled": _problems(plan.overruled),
        "failed": _problems(outcome.failed or []),
        "notes": _problems(plan.notes),
        "not_kept": _problems(outcome.not_kept),
        "trash": [_named(place) for place in outcome.trash],
    }


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _step(step: Step) -> dict[str, Any]:
    return {"do": str(step.do), **_named(step.path), **(_named(step.source, "from") if step.source else {})}


def _problems(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    return [{**_named(problem.path), "why": problem.why} for problem in problems]


def _named(path: bytes, name: str = "path") -> dict[str, str]:
    try:
        return {name: path.decode()}
    except UnicodeDecodeError:
        encoded = base64.b64encode(path).decode()
        return {name: path.decode("utf-8", "backslashreplace"), f"{name}_b64": encoded}
