"""The tool calls of one run in words: what contradicts a call is never left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from steno.evidence import canonical
from steno.judge.calls.types import Call, Calls, Check, Correlation, Effects
from steno.model.run import Run
from steno.text import units
from steno.text.safe import columns, cut, listed, pad, relative_to_cwd, visible
from steno.text.style import Paint, folded
from steno.text.table import GAP, aligned

_HEADINGS = ("VERDICT", "TOOL", "SAID", "POLICY", "KERNEL SAW", "CALL")
_WIDEST = 48  # columns of a cell, so that one long name does not widen every line; the last one may be longer
_NAMES_SHOWN = 5
_ROLES = {"confirmed": "good", "contradicted": "bad", "denied": "warning", "ambiguous": "warning"}
_ORDER = ("contradicted", "ambiguous", "denied", "unobserved", "confirmed")
_CLEAN = "clean"
_SELF_REPORTED = {"self_reported": "self-reported"}


def lines(found: Calls, paint: Paint, *, width: int | None) -> Iterator[str]:
    shorten = _shortener(found, width)
    if found.calls or found.claims:
        doubts = _doubts(**correlation) if (correlation := _told(found.correlation)) else ()
        yield from (paint("warning", shorten(line)) for line in doubts)
    if found.calls:
        cells = [_HEADINGS, *map(_cells, found.calls)]
        table = [[GAP.join(line).rstrip()] for line in aligned(cells)]
        fits = width is None or max(columns(line) for (line,) in table) <= width
        rows = table if fits else list(_blocks(cells))
        for row, call in zip(rows, [None, *found.calls], strict=True):
            yield from _painted([shorten(line) for line in row], call, paint)
            for check in [] if call is None else call.contradictions:
                against = paint("bad", relative_to_cwd(visible(f"  {check.rule}: {check.detail}"), found.cwd))
                yield from folded([against], width=width, indent=4)
    yield from _beside(found, paint, shorten)


def _told(correlation: Correlation | None) -> dict[str, Any] | None:
    if correlation is None:
        return None
    return {"status": correlation.status, "ambiguities": correlation.ambiguities}


def _doubts(status: str, ambiguities: list[str]) -> Iterator[str]:
    """How well the layers are tied to each other, where that is not clean."""
    if status == _CLEAN:
        return
    words = visible(f"correlation: {status}")
    if not ambiguities:
        yield words
        return
    yield f"{words}: {listed(ambiguities, _NAMES_SHOWN)}"


def details(found: Calls, paint: Paint, *, width: int | None) -> Iterator[str]:
    """Everything about each call, one thing a line."""
    shorten = _shortener(found, width)
    for number, call in enumerate(found.calls):
        if number:
            yield ""
        yield paint("heading", shorten(visible(f"{call.tool_call_id}  {call.name}")))
        for label, text, role in _parts(call):
            line = shorten(f"  {pad(label, 12)}{text}")
            yield paint(role, line) if role else line


def summary(run: Run) -> dict[str, Any] | None:
    """What `steno show` says of calls; None for a run that told of none."""
    if not run.has_calls:
        return None
    found = run.told_calls
    if not found.calls and not found.claims:
        return None
    outside = found.unattributed
    return {
        "count": len(found.calls),
        "correlation": _told(found.correlation),
        "verdicts": found.verdicts,
        "contradicted": [_contradiction(call) for call in found.calls if call.contradictions],
        "claims_contradicted": [check.detail for claim in found.claims for check in _against(claim.checks)],
        "changed_outside": None if outside is None else len(outside.files_changed),
        "endpoints_outside": None if outside is None else len(outside.endpoints),
    }


def summary_lines(found: dict[str, Any] | None, run_id: str, paint: Paint) -> Iterator[str]:
    if found is None:
        return
    counts = [f"{found['verdicts'][one]} {one}" for one in _ORDER if one in found["verdicts"]]
    words = f"{units.counted(found['count'], 'tool call')}{': ' if counts else ''}{', '.join(counts)}"
    yield paint("bad", words) if "contradicted" in found["verdicts"] else words
    if found["correlation"] is not None:
        doubts = _doubts(**found["correlation"])
        yield from (paint("warning", line) for line in doubts)
    for text in [*found["contradicted"], *found["claims_contradicted"]]:
        yield paint("bad", visible(text))
    if found["count"] and found["changed_outside"] is not None:
        changed = units.counted(found["changed_outside"], "file")
        endpoints = units.counted(found["endpoints_outside"], "endpoint")
        yield f"outside of every call: {changed} changed, {endpoints} tried"
    yield f"`steno calls {run_id}` tells of each"


def _contradiction(call: Call) -> str:
    return f"{call.name}: {'; '.join(check.detail for check in call.contradictions)}"


def _against(checks: list[Check]) -> list[Check]:
    return [check for check in checks if check.result == "contradicted"]


def _blocks(cells: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """For a terminal that is too narrow for a table: two lines a call."""
    for place, (verdict, tool, said, decided, seen, name) in enumerate(cells):
        words = f"said {said}; policy {decided}; kernel saw {seen}"
        yield [GAP.join((verdict, tool, name)), *([f"  {words}"] if place else [])]


def _painted(row: list[str], call: Call | None, paint: Paint) -> Iterator[str]:
    """The heading as a whole; of a call its verdict, which stands first."""
    if call is None:
        yield from (paint("heading", line) for line in row)
        return
    verdict, role = visible(call.verdict), _ROLES.get(call.verdict)
    first, *rest = row
    if role is not None and first.startswith(verdict):
        first = paint(role, verdict) + first[len(verdict) :]
    yield from (first, *rest)


def _cells(call: Call) -> tuple[str, ...]:
    seen = "not observed" if call.seen is None else _seen(call.seen)
    cells = (visible(call.verdict), visible(call.name), _said(call), _decided(call), seen)
    return (*(cut(cell, _WIDEST) for cell in cells), visible(call.tool_call_id))


def _said(call: Call) -> str:
    if call.said is None:
        return "-"
    word = _SELF_REPORTED.get(call.said.corroboration, call.said.corroboration)
    return visible(f"{call.said.source}, {word}")


def _decided(call: Call) -> str:
    decided = call.decided
    if decided is None:
        return "-"
    words = decided.decision if decided.decision == "allow" else f"{decided.decision}: {decided.reason}"
    return visible(f"{words}, not enforced" if decided.dry_run and decided.decision != "allow" else words)


def _seen(seen: Effects) -> str:
    """Whether a connect succeeded is not always known: an endpoint is not said to be reached."""
    counts = (
        (seen.files_read, "read", "read"),
        (seen.files_changed, "changed", "changed"),
        (seen.endpoints, "endpoint tried", "endpoints tried"),
        (seen.sockets, "socket", "sockets"),
        (seen.programs, "ran", "ran"),
    )
    told = [units.counted(len(names), one, many) for names, one, many in counts if names]
    return ", ".join(told) or "nothing"


def _beside(found: Calls, paint: Paint, shorten: Callable[[str], str]) -> Iterator[str]:
    """What belongs to no call, or to one of several, and what the agent said at the end."""
    outside = found.unattributed
    if outside is not None:
        yield ""
        yield shorten(f"outside of every call: {_seen(outside)}")
        yield from (shorten(f"  {line}") for line in _effects(outside, reads=False))
        for seen in found.by_servers:
            yield shorten(visible(f"  of these by the server {seen.server}: {_seen(seen)}"))
    for shared in found.ambiguous:
        who = listed(shared.candidates, _NAMES_SHOWN)
        yield paint("warning", shorten(f"of one of {who}: {_seen(shared)}"))
        yield from (shorten(f"  {line}") for line in _effects(shared, reads=False))
    for claim in found.claims:
        for check in claim.checks:
            role = {"contradicted": "bad", "confirmed": "good"}.get(check.result, "faint")
            words = f"{claim.source} at the end: {check.result}: {check.detail} ({check.rule})"
            yield paint(role, shorten(visible(words)))


def _effects(seen: Effects, *, reads: bool, limit: int = _NAMES_SHOWN) -> Iterator[str]:
    groups = (
        ("read", seen.files_read if reads else []),
        ("created", seen.files_created),
        ("written", seen.files_written),
        ("deleted", seen.files_deleted),
        ("tried", seen.files_tried if reads else []),
        ("endpoints", seen.endpoints),
        ("sockets", seen.sockets),
        ("ran", seen.programs),
        ("own state", seen.own_state if reads else []),
    )
    for word, names in groups:
        if names:
            yield f"{pad(word, 10)}{listed(names, limit)}"


def _parts(call: Call) -> Iterator[tuple[str, str, str | None]]:
    yield "verdict", visible(call.verdict), _ROLES.get(call.verdict)
    yield "said", _said(call), None
    if call.said is not None and call.said.rule is not None:
        yield "", visible(f"corroborated by {call.said.rule}"), None
    yield from _given(call)
    yield "policy", _decided(call), None
    if call.decided is not None:
        yield "", visible(f"{call.decided.reason}; outcome {call.decided.outcome or 'not told'}"), None
    if call.window is not None:
        yield "window", _window(call), None
    yield "kernel saw", "not observed" if call.seen is None else _seen(call.seen), None
    if call.seen is not None:
        for line in _effects(call.seen, reads=True, limit=1000):
            yield "", line, None
    for check in call.checks:
        role = {"contradicted": "bad", "confirmed": "good"}.get(check.result)
        yield "rule", visible(f"{check.result}: {check.rule}: {check.detail}"), role


def _given(call: Call) -> Iterator[tuple[str, str, None]]:
    """What the tool was given: once where the agent and policy agree, else as each of them tells it."""
    said = None if call.said is None else call.said.input
    decided = None if call.decided is None else call.decided.arguments
    if said is not None and decided is not None and said != decided:
        yield "agent says", _json(said), None
        yield "policy saw", _json(decided), None
    elif said is not None or decided is not None:
        yield "given", _json(decided if said is None else said), None


def _json(value: Any) -> str:
    return visible(canonical.encode(value).decode())


def _window(call: Call) -> str:
    window = call.window
    if window is None:
        return "none"
    start, end = window.start_ns, window.end_ns
    where = "process not seen" if window.process is None else f"process {window.process} and what came of it"
    times = f"{units.duration(start)} to {units.duration(end)}"
    return visible(f"{times} (told by {window.told_by}, ended by {window.ended_by}), {where}")


def _shortener(found: Calls, width: int | None) -> Callable[[str], str]:
    def shortened(text: str) -> str:
        text = relative_to_cwd(text, found.cwd)
        return text if width is None else cut(text, width)

    return shortened
