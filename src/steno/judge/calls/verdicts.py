"""Every tool call, as it was said, decided and seen, with a verdict: docs/calls.md is normative.

What an agent says is `self_reported`, event by event, until a rule that is named corroborates it. What
happened outside of every call is unattributed, what may belong to several is ambiguous; a call that was
denied has no effects.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

from msgspec.structs import replace

from steno.evidence import canonical, wire
from steno.evidence.claims import PolicyLine, SdkLine
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch
from steno.judge import surface
from steno.judge.calls.attribution import COLUMNS as CHANGE_COLUMNS
from steno.judge.calls.attribution import (
    NO_CALL,
    Change,
    EffectsOfCalls,
    Exec,
    Held,
    HeldBelow,
    OwnState,
    Witnessed,
    changes,
    states_after,
)
from steno.judge.calls.checks import (
    CONFIRMED,
    CONTRADICTED,
    CORROBORATING,
    Contents,
    Evidence,
    checks_of,
    claims_command,
    final_claims,
    is_read_only,
    verdict,
    written_by,
)
from steno.judge.calls.join import Joined, join
from steno.judge.calls.tool_calls import STARTED, ToldCall
from steno.judge.calls.types import Call, Calls, Check, Decided, Effects, Said, SaidEvent
from steno.judge.calls.windows import Outside, Owner, Windows
from steno.judge.health import ABSENT
from steno.judge.operations import has_failed
from steno.judge.scan import Reading
from steno.judge.surface import Named, NamesSeen
from steno.judge.surface_names import is_own_log, path_name
from steno.judge.types import FileNames

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
        seen=found.alone.get(place, NamesSeen()),
        own=found.own.get(place, NamesSeen()),
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
    checks = checks_of(call, evidence)
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
        verdict=verdict(call, evidence, checks),
        checks=checks,
    )


def _seen_in(joined: Joined, call: ToldCall, evidence: Evidence) -> Effects | None:
    if call.denied:
        return _seen(joined, NamesSeen(), 0)
    if evidence.window is None or evidence.window.process is None:
        return None
    both = NamesSeen()
    both.add(evidence.seen)
    both.add(evidence.own)
    own = evidence.own_state.sorted_out(evidence.changed_by_agent()).own
    names = {path_name(path, joined.facts.run_id, other_root=False) for path in own}
    return replace(_seen(joined, both, evidence.rows), own_state=sorted(names))


def _seen(joined: Joined, seen: NamesSeen, rows: int) -> Effects:
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
        seen = _seen(joined, found.shared.get(group, NamesSeen()), rows.get(group, 0))
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
        (rule.rule for rule in rules if rule.result == CONFIRMED and rule.rule in CORROBORATING),
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


_EXEC = frozenset({"exec"})
_END = frozenset({"exit"})
_ARGV_CUT = wire.NOTES["argv_cut"]
_NEVER = (0.0, -1.0, 0)


class Wanted(NamedTuple):
    """What is kept beside names and numbers."""

    programs: Collection[int]  # of these calls, with their arguments
    held: Held
    witnessed: Witnessed

    @staticmethod
    def by(joined: Joined) -> Wanted:
        calls, cwd = joined.calls, joined.facts.start.cwd
        programs = {place for place, call in enumerate(calls) if claims_command(call)}
        paths = {path for call in calls for path in written_by(call, cwd)}
        reading = {place for place, call in enumerate(calls) if is_read_only(call)}
        return Wanted(programs, Held(joined.windows.is_anywhere), Witnessed(paths, reading))


class CallScan:
    columns: ClassVar[tuple[str, ...]] = (*dict.fromkeys((*surface.COLUMNS, *CHANGE_COLUMNS)),)

    def __init__(self, windows: Windows, wanted: Wanted) -> None:
        self.wanted = wanted
        self._windows = windows
        self._labeller = _Labeller(windows)
        self._seeing = surface.EffectCollector(labelled=True)
        self._totals: Counter[int] = Counter()
        self._found = EffectsOfCalls()

    @classmethod
    def begin(cls, layers: Layers) -> Self:
        joined = Reading.of(layers).once(join)
        return cls(joined.windows, Wanted.by(joined))

    def take(self, batch: RowBatch) -> None:
        labels, wanted = self._labeller.labels(batch), self.wanted
        owners = self._labeller.owners
        self._totals.update(labels)
        batch.label(labels)
        self._seeing.take(batch)
        found = list(changes(batch))
        _take_late(found, labels, _late(owners), self._found)
        calls = _calls(owners)
        wanted.witnessed.take(batch, ((change, calls[labels[change.row]]) for change in found))
        for change in found:
            wanted.held.take(change)
        if wanted.programs:
            _take_programs(batch, labels, owners, wanted.programs, self._found)

    @cached_property
    def effects(self) -> EffectsOfCalls:
        """When all was taken, and nothing will be."""
        for number, owner in enumerate(self._labeller.owners):
            self._found.counts.take(owner, self._totals[number])
            if number in self._seeing.by_label:
                self._found.take(owner, self._seeing.by_label.pop(number), self._windows)
        return self._found


class _Labeller:
    """Gives every row the number of its owner: 0 is nobody."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._numbers: dict[Owner | Outside, int] = {}
        self._last: dict[int, tuple[float, float, int]] = {}  # process -> from, until, number

    @property
    def owners(self) -> list[Owner | Outside | None]:
        return [None, *self._numbers]

    def labels(self, batch: RowBatch) -> list[int]:
        processes = batch.numbers("process")
        inside = {process for process in set(processes) if self._windows.is_anywhere(process)}
        if not inside:
            return [0] * batch.count
        found, last, ends = [], self._last, set(batch.rows_of(_END))
        for row, (process, at_ns) in enumerate(zip(processes, batch.numbers("mono_ns"), strict=True)):
            if process not in inside:
                found.append(0)
                continue
            if row in ends:
                found.append(self._number(self._windows.owner_of_end(process, at_ns)))
                continue
            start, end, number = last.get(process, _NEVER)
            if not start <= at_ns < end:
                start, end, number = last[process] = self._look(process, at_ns)
            found.append(number)
        return found

    def _look(self, process: int, at_ns: int) -> tuple[float, float, int]:
        owner, start, end = self._windows.owner(process, at_ns)
        return start, end, self._number(owner)

    def _number(self, owner: Owner | Outside | None) -> int:
        return 0 if owner is None else self._numbers.setdefault(owner, len(self._numbers) + 1)


def _calls(owners: Sequence[Owner | Outside | None]) -> list[int]:
    """For every label the call that has it to itself."""
    return [owner.call if isinstance(owner, Owner) and not owner.several else NO_CALL for owner in owners]


def _late(owners: Sequence[Owner | Outside | None]) -> dict[int, int]:
    """The labels of what was done after calls, and the calls."""
    return {
        number: owner.after
        for number, owner in enumerate(owners)
        if isinstance(owner, Outside) and owner.after is not None
    }


def _take_late(
    changes: Iterable[Change], labels: list[int], late: dict[int, int], found: EffectsOfCalls
) -> None:
    for change in changes:
        if labels[change.row] in late:
            found.counts.late[late[labels[change.row]]].add(change.path)


def _take_programs(
    batch: RowBatch,
    labels: list[int],
    owners: Sequence[Owner | Outside | None],
    wanted: Collection[int],
    found: EffectsOfCalls,
) -> None:
    kept = {
        number: owner.call
        for number, owner in enumerate(owners)
        if isinstance(owner, Owner) and not owner.several and owner.call in wanted
    }
    rows = [row for row in batch.rows_of(_EXEC) if labels[row] in kept]
    columns = (
        batch.numbers("process", rows),
        batch.texts("resolved", rows),
        batch.texts("path", rows),
        batch.texts("extra", rows),
        batch.numbers("notes", rows),
        batch.optional("result", rows),
    )
    for row, process, resolved, path, words, notes, result in zip(rows, *columns, strict=True):
        if not has_failed(result):
            argv = tuple((words or b"").removesuffix(b"\0").split(b"\0"))
            program = Exec(process, resolved or path or b"", path or b"", argv, bool(notes & _ARGV_CUT))
            found.execs[kept[labels[row]]].append(program)
