"""What a report says of a run first: the verdict, what the run did, and what speaks against it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from steno import __version__
from steno.errors import UnreadableBundleError
from steno.evidence import layout
from steno.evidence.run_id import is_run_id
from steno.judge.types import ADDRESS_SET, CONNECTED, CONNECTED_OR_SET, NOT_SEEN
from steno.model.record import SO_FAR
from steno.model.run import RULES, Run, RunState, Status, Verdict
from steno.model.table_documents import DOCUMENTS
from steno.text import units
from steno.text.safe import listed, relative_to_cwd
from steno.text.style import Paint
from steno.views import files, show
from steno.views import health as health_text
from steno.views.show import lasted_ns, summary

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


DID, TRUE, WORRY = "What did it do?", "Is it true?", "Should I worry?"
_NAMES_SHOWN = 5
_IN_CONTENTS = "blobs:"
_SHORT_HEAD = 12
ORPHANED = (
    "Its recorder is gone and its command goes on: only the kernel is still watched. "
    "When it has ended, `steno recover` seals what was recorded."
)
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_BANNERS = {
    "valid": (
        "Record valid",
        "Every digest is right: this is what was sealed, and nothing that should be in it is missing.",
    ),
    "incomplete": (
        "Record incomplete",
        "What is here is what was sealed, but the record itself declares that something is missing.",
    ),
    "invalid": (
        "Invalid",
        "This is not what was sealed: it was changed, or never was a right record. Rely on nothing below.",
    ),
    RunState.UNSEALED: (
        "Not sealed",
        "Its recorder is gone: facts up to then, and nothing vouches for them. `steno recover` seals them.",
    ),
    RunState.RUNNING: ("Running", "These are the facts so far, and nothing vouches for them yet."),
    RunState.ORPHANED: ("Recorder gone", f"{ORPHANED} Nothing vouches for these facts yet."),
    RunState.SEALED: (
        "Unverified",
        "The manifest of this record cannot be read: nothing can be verified. Rely on nothing below.",
    ),
    RunState.DAMAGED: (
        "Unverified",
        "The manifest of this record is gone: nothing can be verified. Rely on nothing below.",
    ),
}
_SOUND = frozenset({"valid", "incomplete"})
_VERIFIED = {
    "valid": ("valid, when this was made", "good"),
    "incomplete": ("incomplete, when this was made", "warning"),
    "invalid": ("INVALID, when this was made", "bad"),
    UNVERIFIED: ("unverified: there was nothing that could be", "bad"),
}
_WORST_FIRST = ("bad", "warning", "good")
TROUBLES_APART = " · "
_plain = Paint(colour=False)


class Fact(NamedTuple):
    """One answer: its label, its lines, and how to take it: `good`, `warning`, `bad` or neither."""

    label: str
    lines: list[str]
    role: str = ""


class Headline(NamedTuple):
    """What stands first and large: what the record is, what in it is bad news, and how bad the whole is."""

    word: str
    sentence: str
    troubles: list[str]
    role: str

    @property
    def line(self) -> str:
        return TROUBLES_APART.join([self.word, *self.troubles])


def headline(found: Subject) -> Headline:
    """A record can be sound and tell of something bad: the worst of both is how the whole is to be taken."""
    word, sentence = _BANNERS[found.state if found.status == UNVERIFIED else found.status]
    troubles = [] if found.summary is None else list(_troubles(found, found.summary))
    roles = {_VERIFIED[found.status][1], *(role for _, role in troubles)}
    worst = next(role for role in _WORST_FIRST if role in roles)
    return Headline(word, sentence, [words for words, _ in troubles], worst)


def _troubles(found: Subject, summary: Data) -> Iterator[tuple[str, str]]:
    """The bad news of what was recorded, in a few words each, none of them the record's own."""
    if calls := summary["calls"]:
        for thing, against in (("call", calls["contradicted"]), ("claim", calls["claims_contradicted"])):
            if against:
                yield f"{units.counted(len(against), thing)} contradicted", "bad"
        if denied := calls["verdicts"].get("denied"):
            yield f"{units.counted(denied, 'call')} denied", "warning"
    result = _result(found, summary["run"], show.seen_end(summary["kernel"]))
    if result.role == "bad":
        code, was_killed = summary["run"]["exit_code"], summary["run"]["signal"] is not None
        yield ("ended by a signal" if was_killed else f"exit code {code}"), "bad"
    elif result.role == "warning":
        yield "end not seen", "warning"


def word(found: Subject) -> str:
    """What the record is, in the words of a message: the same as the banner's."""
    if found.status != UNVERIFIED or found.state in {RunState.DAMAGED, RunState.SEALED}:
        return found.status
    return str(found.state)


def is_sound(found: Subject) -> bool:
    """Whether there is anything that a check can show to be right."""
    return found.status in _SOUND


def command(summary: Data) -> str:
    return shlex.join(summary["run"]["command"])


def when(found: Subject, run: Data) -> str:
    moment = datetime.fromtimestamp(min(max(run["started_at_ms"], 0), _LATEST_MS) / 1000, UTC)
    so_far = "" if found.state is RunState.SEALED else " up to the last event"
    lasted = units.duration(lasted_ns(found.summary) if found.summary else run["duration_ns"])
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, for {lasted}{so_far}"


def where(run: Data) -> str:
    host = run["host"]
    return f"{run['cwd']} on {host['name']} ({host['os']} {host['release']} {host['machine']})"


def answers(found: Subject) -> dict[str, list[Fact]]:
    """The questions in their order; a record that cannot be read answers only one."""
    verified = _verified(found)
    if found.summary is None:
        return {TRUE: [verified, _signature()]}
    told = {
        DID: list(_did(found)),
        TRUE: [verified, _judged(), _observed(found.summary["health"]), _signature()],
        WORRY: list(_worries(found, found.summary)),
    }
    return told if is_sound(found) else {question: _unproven(facts) for question, facts in told.items()}


def _unproven(facts: list[Fact]) -> list[Fact]:
    """Nothing that an unsound record says was shown to be good."""
    return [fact._replace(role="") if fact.role == "good" else fact for fact in facts]


def _did(found: Subject) -> Iterator[Fact]:
    summary = found.summary or {}
    kernel = summary["kernel"]
    yield _result(found, summary["run"], show.seen_end(kernel))
    if kernel is None and summary["health"]["steno"]["kernel_layer"] == SO_FAR:
        yield Fact("Kernel", ["watched so far: processes, files and network are told when it is sealed"])
    elif kernel is None:
        yield Fact("Kernel", ["what it did was not observed: processes, files, network"], "warning")
    else:
        yield Fact("Processes", [show.process_line(kernel)])
        lines = show.file_lines(kernel)
        yield Fact("Files", [relative_to_cwd(line, summary["run"]["cwd"]) for line in lines])
        yield Fact("Network", list(show.network_lines(kernel, _plain)))
    if summary["repo"]["changes"] is not None:
        yield _git(summary["repo"])
    if summary["calls"]:
        verdicts = summary["calls"]["verdicts"]
        counts = [f"{count} {verdict}" for verdict, count in sorted(verdicts.items())]
        some = f": {', '.join(counts)}" if counts else ""
        yield Fact("Tool calls", [f"{units.counted(summary['calls']['count'], 'call')}{some}"])


def _result(found: Subject, run: Data, seen: str | None) -> Fact:
    code, signal = run["exit_code"], run["signal"]
    if signal is not None:
        return Fact("Result", [f"ended by {signal} (exit code {code})"], "bad")
    if code is not None:
        return Fact("Result", [f"exit code {code}"], "bad" if code else "good")
    if found.state in {RunState.RUNNING, RunState.ORPHANED}:
        return Fact("Result", ["still running"])
    return Fact("Result", [seen or "not known: the end was not seen"], "warning")


def _git(repo: Data) -> Fact:
    before, after = repo["before"] or {}, repo["after"] or {}
    places = [
        f"{one.get('branch') or 'detached'} {one['head'][:_SHORT_HEAD]}" if one.get("head") else "no commit"
        for one in (before, after)
    ]
    changed = units.counted(after.get("changed") or 0, "file")
    lines = f"+{after.get('added_lines') or 0} -{after.get('deleted_lines') or 0}"
    return Fact("Git", [f"{changed} changed, {lines}", " → ".join(dict.fromkeys(places))])


def _verified(found: Subject) -> Fact:
    words, role = _VERIFIED[found.status]
    return Fact("Verification", [words, *([f"root {found.root}"] if found.root else [])], role)


def _judged() -> Fact:
    """What a record holds is checked; what follows from it is only as good as who says it."""
    words = f"by rules {RULES} of Steno {__version__}, which made this: files, calls, verdicts, health"
    return Fact("Judgement", [words])


def _signature() -> Fact:
    return Fact("Signature", ["not signed: who made this record is not proven"])


def _observed(health: Data) -> Fact:
    first, *more = health_text.lines(health, _plain)
    kernel, _, others = first.partition(", ")  # a layer that nobody asked for is neither good nor bad
    lines = [kernel, *([others] if others else []), *more]
    return Fact("Observed", lines, "good" if health["steno"]["kernel_layer"] == "complete" else "warning")


def _worries(found: Subject, summary: Data) -> Iterator[Fact]:
    gaps = [_gap(gap) for gap in summary["gaps"]]
    yield Fact("Gaps", gaps or ["none declared"], "bad" if gaps else "good")
    yield from _contradictions(summary["calls"], summary["run"]["cwd"])
    yield _secrets(summary["redactions"])
    if summary["kernel"] is not None and (deleted := summary["kernel"]["files_changed"].get("deleted")):
        yield Fact("Deleted", [units.counted(deleted, "file")], "warning")
    if summary["kernel"] is not None and (unkept := show.paths_not_kept(summary["kernel"])):
        lines = [
            relative_to_cwd(line, summary["run"]["cwd"]) for line in files.not_kept_lines(unkept, "path")
        ]
        yield Fact("Not kept", lines, "warning")
    if found.reached:
        yield _endpoints("Reached", found.reached)
    if found.attempted:
        yield _endpoints("Attempted", found.attempted, f", {NOT_SEEN}")
    if found.addressed:
        yield _endpoints("Addressed", found.addressed, f", {ADDRESS_SET}")


def _endpoints(label: str, names: Sequence[str], outcome: str = "") -> Fact:
    count = units.counted(len(names), "endpoint")
    return Fact(label, [f"{count} elsewhere{outcome}: {listed(names, _NAMES_SHOWN)}"], "warning")


def _gap(gap: Data) -> str:
    lost = f" ({units.size(gap['lost_bytes'])} lost)" if gap.get("lost_bytes") else ""
    return f"{gap['reason']}: {gap['detail']}{lost}"


def _contradictions(calls: Data | None, cwd: str) -> Iterator[Fact]:
    if calls is None:
        return
    against = [relative_to_cwd(text, cwd) for text in (*calls["contradicted"], *calls["claims_contradicted"])]
    if against:
        yield Fact("Contradicted", against, "bad")
    else:
        yield Fact("Contradicted", ["no call, and nothing that was said"], "good")
    if denied := calls["verdicts"].get("denied"):
        yield Fact("Denied", [f"{units.counted(denied, 'call')} refused by policy"], "warning")


def _secrets(report: Data) -> Fact:
    total = report.get("total") or 0
    if not total:
        return Fact("Redactions", ["no secret was found"])
    counts = ", ".join(f"{rule} {count}" for rule, count in report["counts"].items())
    contents = [place for place in report["redacted_fields"] if place.startswith(_IN_CONTENTS)]
    others = [place for place in report["redacted_fields"] if not place.startswith(_IN_CONTENTS)]
    places = [listed(others, _NAMES_SHOWN)] if others else []
    places += [f"{units.counted(len(contents), 'file')}, whose content is kept encrypted"] if contents else []
    masked = f"{units.counted(total, 'secret')} masked: {counts}"
    return Fact("Redactions", [masked, f"in {'; '.join(places)}"], "warning")
