"""Every tool call, as it was said, decided and seen, with a verdict.

What an agent says is `self_reported`, event by event, until a rule that is
named corroborates it. What happened outside of every call is `unattributed`, what may belong to several is
`ambiguous`; a call that was denied has no effects. docs/calls.md is normative.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from steno.evidence import canonical
from steno.evidence.claims import PolicyLine, SdkLine
from steno.evidence.layers import Layers
from steno.judge import said_and_done
from steno.judge.call_effects import EffectsOfCalls
from steno.judge.call_join import Joined, join
from steno.judge.call_scan import CallScan, Wanted
from steno.judge.file_changes import HeldBelow, states_after
from steno.judge.final_claims import final_claims
from steno.judge.health import ABSENT
from steno.judge.own_state import OwnState
from steno.judge.said_and_done import CONFIRMED, CONTRADICTED, Evidence
from steno.judge.scan import Reading
from steno.judge.surface import Named, Seen
from steno.judge.surface_names import is_own_log, path_name
from steno.judge.told_calls import STARTED, ToldCall
from steno.judge.types import Call, Calls, Check, Decided, Effects, FileNames, Said, SaidEvent
from steno.judge.written_content import Contents

_DEEPEST = canonical.MAX_DEPTH // 2
_LATER = 2**63  # than any time of a run
_MILLI = 1_000_000


class _Beside(NamedTuple):
    """What is known beside the effects of each call."""

    own_state: OwnState
    held: Mapping[object, HeldBelow]
    contents: Contents


def calls(layers: Layers) -> Calls:
    """Every tool call, as it was said, decided and seen, with a verdict."""
    reading = Reading.of(layers)
    joined = reading.once(join)
    found = Calls(joined.facts.run_id, [], [], None, [], final_claims(joined), cwd=joined.facts.start.cwd)
    if not joined.calls:
        return found
    scan = reading.scanned(CallScan)
    effects, beside = scan.effects, _beside(reading, joined, scan.wanted)
    order = sorted(range(len(joined.calls)), key=lambda place: (_first_ns(joined, place), place))
    found = replace(
        found,
        calls=[_call(joined, place, number, effects, beside) for number, place in enumerate(order, 1)],
        ambiguous=list(_ambiguous(joined, effects)),
    )
    if joined.kernel == ABSENT:
        return found
    counts = effects.counts
    return replace(
        found,
        unattributed=_without_intake(_seen(joined, effects.nobody, counts.nobody)),
        by_servers=[
            replace(_without_intake(_seen(joined, effects.by_servers[server], rows)), server=server)
            for server, rows in sorted(counts.by_servers.items())
        ],
    )


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


def _without_intake(told: Effects) -> Effects:
    """What the run's own programs tell the recorder is no effect of the command."""
    files = told.names.files
    others = {
        word: [name for name in getattr(files, word) if not is_own_log(name)]
        for word in files.__struct_fields__
    }
    return replace(told, names=replace(told.names, files=FileNames(**others)))


def _call(joined: Joined, place: int, number: int, found: EffectsOfCalls, beside: _Beside) -> Call:
    call, window = joined.calls[place], joined.windows.of_call[place]
    held = None if window is None else beside.held.get((window.process, window.told_by == "hooks"))
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
    checks = said_and_done.rules(call, evidence)
    seen = _seen_in(joined, call, evidence)
    return Call(
        call=number,
        tool_call_id=call.tool_call_id,
        tool=call.tool,
        server=call.server,
        said=_said(call, checks, joined) if call.said else None,
        decided=None if call.decision is None else _decided(call.decision),
        window=window,
        seen=None if seen is None else replace(seen, call=number),
        verdict=said_and_done.verdict(call, evidence, checks),
        checks=checks,
    )


def _seen_in(joined: Joined, call: ToldCall, evidence: Evidence) -> Effects | None:
    if call.denied:
        return _seen(joined, Seen(), 0)
    if evidence.window is None or evidence.window.process is None:
        return None
    both = Seen()
    both.add(evidence.seen)
    both.add(evidence.own)
    own = evidence.own_state.sorted_out(evidence.changed_by_agent()).own
    names = {path_name(path, joined.facts.run_id, other_root=False) for path in own}
    return replace(_seen(joined, both, evidence.rows), own_state=sorted(names))


def _seen(joined: Joined, seen: Seen, rows: int) -> Effects:
    return Effects(n_events=rows, names=Named.of(seen, joined.facts.run_id).names)


def _ambiguous(joined: Joined, found: EffectsOfCalls) -> Iterator[Effects]:
    """Every group of calls that cannot be told apart, and what was seen of it."""
    groups = joined.windows.groups
    members: defaultdict[int, list[int]] = defaultdict(list)
    for place in range(len(joined.calls)):
        if groups.is_ambiguous(place):
            members[groups.of(place)].append(place)
    rows = _rows_of_groups(joined, found.counts.shared)
    for group, places in members.items():
        candidates = sorted(joined.calls[place].tool_call_id for place in places)
        seen = _seen(joined, found.shared.get(group, Seen()), rows.get(group, 0))
        yield replace(seen, candidates=candidates)


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


def _decided(decision: PolicyLine) -> Decided:
    detail = decision.steno
    return Decided(
        decision=decision.decision,
        reason=detail.reason,
        policy=detail.policy,
        dry_run=detail.dry_run,
        outcome=detail.outcome,
        source=decision.source,
        connection=detail.connection,
        request_id=detail.request_id,
        id_from=detail.id_from,
        method=detail.method,
        read_only=detail.read_only,
        arguments=_shallow(detail.arguments),
        arguments_cut=detail.arguments_cut,
    )


def _said(call: ToldCall, checks: Sequence[Check], joined: Joined) -> Said:
    first = call.said[0]
    events = [_event(line, call, checks, joined) for line in call.said]
    given = [
        line.steno.input for line in call.said if line.steno is not None and line.steno.input is not None
    ]
    corroborated = all(event.rule is not None for event in events)
    return Said(
        source=first.source,
        sdk_name=first.sdk_name,
        sdk_version=first.sdk_version,
        tool=call.said_tool,
        id_from=first.steno.id_from if first.steno is not None else "sdk",
        events=events,
        input=_shallow(given[0]) if given else None,
        corroboration=_word(corroborated=corroborated),
        rule=events[0].rule if corroborated else None,
    )


def _event(line: SdkLine, call: ToldCall, checks: Sequence[Check], joined: Joined) -> SaidEvent:
    rule = _corroborating(line, call, checks, joined)
    return SaidEvent(line.event_type, line.seq, _word(corroborated=rule is not None), rule)


def _corroborating(line: SdkLine, call: ToldCall, rules: Sequence[Check], joined: Joined) -> str | None:
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
