"""What a report is about: the state of a record, the verdict on it, and what it says of itself.

In: a run, which may be unsealed, tampered with or damaged. Out: a `Subject`, whatever is there:
what cannot be read is said, and the rest is still shown. Refuses only what is no record at all. Verifies,
by recomputing; never makes a verdict better than the verifier's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from steno.errors import UnreadableBundleError
from steno.evidence import layout
from steno.evidence.run_id import is_run_id
from steno.judge.types import ADDRESS_SET, CONNECTED, CONNECTED_OR_SET, NOT_SEEN
from steno.model.run import Run, RunState, Status, Verdict
from steno.model.table_documents import DOCUMENTS
from steno.views.summary import summary

UNVERIFIED = "unverified"
_MOST_ENTRIES = 200  # of a list in the summary; whoever wants all of it finds it in the embedded file
_INTERNET = re.compile(r"[0-9.]+:\d+$|\[")
_LOOPBACK = re.compile(r"127\.|\[::1\]|\[::ffff:127\.|0\.0\.0\.0:|\[::\]:")
_MOST_CHARACTERS = 4000  # of a text in it

Data = dict[str, Any]


class Subject(NamedTuple):
    run_id: str | None
    state: RunState
    status: str  # valid, incomplete, invalid, or unverified: there was nothing that could be verified
    gaps: list[str]
    problems: list[str]  # what is wrong with the record
    root: str | None
    summary: Data | None  # of `steno show --json`; None: it cannot be read
    reached: list[str]  # endpoints on other machines that were connected or sent to
    attempted: list[str]  # those whose outcome was not seen
    addressed: Sequence[str] = ()  # those that a datagram socket was given as its peer
    command: list[str] | None = None  # where no summary can be made, and nothing vouches for it

    @property
    def summary_in_page(self) -> Data | None:
        """The summary without the bulk; what is counted is counted in the whole of it."""
        return None if self.summary is None else _bounded(self.summary)

    @property
    def verdict(self) -> Data:
        return {"status": self.status, "gaps": self.gaps, "problems": self.problems}


def subject_of(run: Run) -> Subject:
    if run.state is RunState.DAMAGED and not run.folder.has(layout.EVENTS):
        raise UnreadableBundleError(
            f"{run.path} is not a recording: it has neither a manifest, nor a spool, nor events",
            hint="`steno list` shows the runs",
        )
    verdict = run.as_it_lies.verify(*DOCUMENTS)
    problems = [] if _is_only_unsealed(verdict) else _problems(verdict)
    found, command = None, None
    try:
        found = summary(run.as_it_lies, run.path)
    except UnreadableBundleError as error:
        problems.append(str(error).replace(str(run.path), "this folder"))
        command = run.command_alone
    return Subject(
        run_id=verdict.run_id or (found or {}).get("run_id") or _name(run),
        state=run.state,
        status=_status(verdict),
        gaps=list(verdict.gaps),
        problems=problems,
        root=verdict.root,
        summary=None if found is None else {**found, "path": None},
        reached=_elsewhere(found, lambda one: one["outcome"] == CONNECTED or one["sent"]),
        attempted=_elsewhere(
            found, lambda one: one["outcome"] in {NOT_SEEN, CONNECTED_OR_SET} and not one["sent"]
        ),
        addressed=_elsewhere(found, lambda one: one["outcome"] == ADDRESS_SET and not one["sent"]),
        command=command,
    )


def _status(verdict: Verdict) -> str:
    if verdict.status is Status.UNREADABLE or _is_only_unsealed(verdict):
        return UNVERIFIED
    return str(verdict.status)


def _is_only_unsealed(verdict: Verdict) -> bool:
    return verdict.gaps == ["unsealed"]


def _problems(verdict: Verdict) -> list[str]:
    if verdict.status in {Status.VALID, Status.INCOMPLETE}:
        return []
    failed = verdict.steps[-1]
    return [f"step {failed.number} of the verification failed; it asks that {failed.says}", *failed.problems]


def _elsewhere(found: Data | None, wanted: Callable[[Data], bool]) -> list[str]:
    """The endpoints beyond this machine of which something is true."""
    outcomes = ((found or {}).get("kernel") or {}).get("outcomes", [])
    names = {one["name"] for one in outcomes if wanted(one)}
    return sorted(name for name in names if _INTERNET.match(name) and not _LOOPBACK.match(name))


def _name(run: Run) -> str | None:
    return run.path.name if is_run_id(run.path.name) else None


def _bounded(value: Any) -> Any:
    """The same data without the bulk, so that a page is not made of its summary."""
    match value:
        case str():
            return value if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS]}…"
        case dict():
            return {key: _bounded(item) for key, item in list(value.items())}
        case list():
            return [_bounded(item) for item in value[:_MOST_ENTRIES]]
        case _:
            return value
