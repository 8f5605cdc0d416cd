"""`calls.json`: every tool call, as it was said, decided and seen, with a verdict.

In: layers. Out: canonical JSON. What an agent says is `self_reported`, event by event, until a rule that is
named corroborates it. What happened outside of every call is `unattributed`, what may belong to several is
`ambiguous`; a call that was denied has no effects. docs/calls.md is normative.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from steno.evidence import canonical
from steno.evidence.claims import PolicyLine, SdkLine
from steno.evidence.layers import Layers
from steno.judge import kernel_health, said_and_done
from steno.judge.call_effects import Effects
from steno.judge.call_join import Joined, join
from steno.judge.call_scan import CallScan, Wanted
from steno.judge.call_windows import Window
from steno.judge.doings import Named, Seen
from steno.judge.file_changes import HeldBelow, states_after
from steno.judge.final_claims import final_claims
from steno.judge.one_pass import Reading
from steno.judge.own_state import OwnState
from steno.judge.said_and_done import CONFIRMED, CONTRADICTED, Evidence, Rule
from steno.judge.surface_names import is_own_log, path_name
from steno.judge.told_calls import STARTED, ToldCall
from steno.judge.written_content import Contents

SCHEMA = "steno.calls.v1"
_DEEPEST = canonical.MAX_DEPTH // 2
_LATER = 2**63  # than any time of a run
_MILLI = 1_000_000


class _Beside(NamedTuple):
    """What is known beside the effects of each call."""

    own_state: OwnState
    held: Mapping[object, HeldBelow]
    contents: Contents


def calls(layers: Layers) -> Iterator[bytes]:
    reading = Reading.of(layers)
    joined = reading.once(join)
    told: dict[str, Any] = {"calls": [], "ambiguous": [], "unattributed": None}
    if joined.calls:
        told = _told(reading, joined)
    head = {"schema": SCHEMA, "run_id": joined.facts.run_id}
    yield canonical.encode({**head, **told, "claims": final_claims(joined)})


def _told(reading: Reading, joined: Joined) -> dict[str, Any]:
    scan = reading.scanned(CallScan)
    found, beside = scan.effects, _beside(reading, joined, scan.wanted)
    order = sorted(range(len(joined.calls)), key=lambda place: (_first_ns(joined, place), place))
    absent = joined.kernel == kernel_health.ABSENT
    return {
        "calls": [_call(joined, place, found, beside) for place in order],
        "ambiguous": list(_ambiguous(joined, found)),
        "unattributed": None if absent else _unattributed(joined, found),
    }


def _beside(layers: Layers, joined: Joined, wanted: Wanted) -> _Beside:
    """Files tell wall-clock time. Where that was set during the run, the earliest beginning is meant."""
    held, own_state = wanted.held, OwnState.of(joined.facts)
    after = states_after(layers, held.paths | wanted.witnessed.by_path.keys())
    origin_ns = min(event.ts_ms * _MILLI - event.mono_ns for event in layers.events())
    held.settle(joined.processes, after, origin_ns)

    def holders(process: int, path: bytes) -> Iterator[tuple[int, bool]]:
        """An agent's own process may have its own state open."""
        for root, of_agent in joined.windows.scopes_of(process):
            if not (of_agent and root == process and own_state.has(path)):
                yield root, of_agent

    contents = Contents(wanted.witnessed.by_path, wanted.witnessed.behind, after, origin_ns)
    return _Beside(own_state, held.by(holders), contents)


def _unattributed(joined: Joined, found: Effects) -> dict[str, Any]:
    """What happened outside of every call; that of servers is told apart as well."""
    counts = found.counts
    by_servers = {
        server: _without_intake(_seen(joined, found.by_servers[server], rows))
        for server, rows in sorted(counts.by_servers.items())
    }
    return {**_without_intake(_seen(joined, found.nobody, counts.nobody)), "by_servers": by_servers}


def _without_intake(told: dict[str, Any]) -> dict[str, Any]:
    """What the run's own programs tell the recorder is no effect of the command."""
    files = {word: [name for name in names if not is_own_log(name)] for word, names in told["files"].items()}
    return {**told, "files": files}


def _call(joined: Joined, place: int, found: Effects, beside: _Beside) -> dict[str, Any]:
    call, window = joined.calls[place], joined.windows.of_call[place]
    held = None if window is None else beside.held.get((window.root, window.told_by == "hooks"))
    evidence = Evidence(
        call=place,
        window=window,
        rows=found.counts.alone[place],
        seen=found.alone.get(place, Seen()),
        own=found.own.get(place, Seen()),
        execs=found.execs.get(place, ()),
        processes=joined.processes,
        complete=joined.is_complete,
        ambiguous=call.reused or joined.windows.groups.is_ambiguous(place),
        cwd=joined.facts.start.cwd,
        own_state=beside.own_state,
        late=frozenset(found.counts.late.get(place, ())),
        held=None if held is None or window is None else held.at(window.start_ns),
        contents=beside.contents,
    )
    rules = said_and_done.rules(call, evidence)
    return {
        "tool_call_id": call.tool_call_id,
        "tool": call.tool,
        "server": call.server,
        "said": _said(call, rules, joined) if call.said else None,
        "decided": None if call.decision is None else _decided(call.decision),
        "window": None if window is None else _window(window),
        "seen": _seen_in(joined, call, evidence),
        "verdict": said_and_done.verdict(call, evidence, rules),
        "rules": [rule._asdict() for rule in rules],
    }


def _seen_in(joined: Joined, call: ToldCall, evidence: Evidence) -> dict[str, Any] | None:
    if call.denied:
        return {**_seen(joined, Seen(), 0), "own_state": []}
    if evidence.window is None or evidence.window.root is None:
        return None
    both = Seen()
    both.add(evidence.seen)
    both.add(evidence.own)
    own = evidence.own_state.sorted_out(evidence.changed_by_agent()).own
    names = {path_name(path, joined.facts.run_id, other_root=False) for path in own}
    return {**_seen(joined, both, evidence.rows), "own_state": sorted(names)}


def _seen(joined: Joined, seen: Seen, rows: int) -> dict[str, Any]:
    return {"kernel_event_count": rows, **Named.of(seen, joined.facts.run_id).told()}


def _ambiguous(joined: Joined, found: Effects) -> Iterator[dict[str, Any]]:
    """Every group of calls that cannot be told apart, and what was seen of it."""
    groups = joined.windows.groups
    members: defaultdict[int, list[int]] = defaultdict(list)
    for place in range(len(joined.calls)):
        if groups.is_ambiguous(place):
            members[groups.of(place)].append(place)
    rows = _rows_of_groups(joined, found.counts.shared)
    for group, places in members.items():
        candidates = sorted(joined.calls[place].tool_call_id for place in places)
        yield {"candidates": candidates, **_seen(joined, found.shared.get(group, Seen()), rows.get(group, 0))}


def _rows_of_groups(joined: Joined, shared: Mapping[int, int]) -> dict[int, int]:
    found: defaultdict[int, int] = defaultdict(int)
    for place, count in shared.items():
        found[joined.windows.groups.of(place)] += count
    return found


def _first_ns(joined: Joined, place: int) -> int:
    call, window = joined.calls[place], joined.windows.of_call[place]
    if call.decision is not None:
        return call.decision.steno.start_ns
    if window is not None:
        return window.start_ns
    said = [line.steno.at_ns for line in call.said if line.steno is not None and line.steno.at_ns is not None]
    return min(said, default=_LATER)


def _window(window: Window) -> dict[str, Any]:
    return {
        "start_ns": window.start_ns,
        "end_ns": window.end_ns,
        "ended_by": window.ended_by,
        "told_by": window.told_by,
        "process": window.root,
    }


def _decided(decision: PolicyLine) -> dict[str, Any]:
    detail = decision.steno
    return {
        "decision": decision.decision,
        "reason": detail.reason,
        "policy": detail.policy,
        "dry_run": detail.dry_run,
        "outcome": detail.outcome,
        "source": decision.source,
        "connection": detail.connection,
        "request_id": detail.request_id,
        "id_from": detail.id_from,
        "method": detail.method,
        "read_only": detail.read_only,
        "arguments": _shallow(detail.arguments),
        "arguments_cut": detail.arguments_cut,
    }


def _said(call: ToldCall, rules: Sequence[Rule], joined: Joined) -> dict[str, Any]:
    first = call.said[0]
    events = [_event(line, call, rules, joined) for line in call.said]
    given = [
        line.steno.input for line in call.said if line.steno is not None and line.steno.input is not None
    ]
    corroborated = all(event["rule"] is not None for event in events)
    return {
        "source": first.source,
        "sdk_name": first.sdk_name,
        "sdk_version": first.sdk_version,
        "tool": call.said_tool,
        "id_from": first.steno.id_from if first.steno is not None else "sdk",
        "events": events,
        "input": _shallow(given[0]) if given else None,
        "corroboration": _word(corroborated=corroborated),
        "rule": events[0]["rule"] if corroborated else None,
    }


def _event(line: SdkLine, call: ToldCall, rules: Sequence[Rule], joined: Joined) -> dict[str, Any]:
    rule = _corroborating(line, call, rules, joined)
    return {
        "event_type": line.event_type,
        "seq": line.seq,
        "corroboration": _word(corroborated=rule is not None),
        "rule": rule,
    }


def _corroborating(line: SdkLine, call: ToldCall, rules: Sequence[Rule], joined: Joined) -> str | None:
    """The rule by which somebody else bears out that this happened; None: only the agent says so."""
    if call.reused:
        return None
    if call.decision is not None:
        if not call.tool_agrees or not joined.policy_is_trusted:
            return None
        if any(rule.rule == "arguments_claimed" and rule.result == CONTRADICTED for rule in rules):
            return None
        if line.event_type == STARTED:
            return "policy_decision"
        return "policy_outcome" if call.decision.steno.outcome is not None else None
    return next(
        (
            rule.rule
            for rule in rules
            if rule.result == CONFIRMED and rule.rule in said_and_done.CORROBORATING
        ),
        None,
    )


def _shallow(value: Any) -> Any:
    """What was given, unless it is nested deeper than a file may be that holds it."""
    return value if _depth_is_below(value, _DEEPEST) else None


def _depth_is_below(value: Any, depth: int) -> bool:
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    return depth > 0 and all(_depth_is_below(one, depth - 1) for one in inner)


def _word(*, corroborated: bool) -> str:
    return "corroborated" if corroborated else "self_reported"
