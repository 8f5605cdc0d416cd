"""What ties the layers of a run to each other.

Every decision of policy has its window, and so many kernel events of its server's processes lie in it.
`clean` needs a binding, all layers that were to be there, and no ambiguity: a report that has joined nothing
is never clean here. Ambiguities are fixed strings, sorted; docs/calls.md has them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from steno.agents.made import CALL_ID_KEYS, HOOK_AGENTS
from steno.evidence.kinds import ANY_SHIM, NO_SHIM
from steno.evidence.layers import Layers
from steno.judge import health
from steno.judge.calls.attribution import Counts
from steno.judge.calls.join import Joined, join
from steno.judge.calls.tool_calls import TOOL_CALL, ToldCall, is_of_hook
from steno.judge.calls.types import Binding, Correlation, WallWindow
from steno.judge.calls.verdicts import CallScan
from steno.judge.health import ABSENT, CLEAN, COMPLETE, FAILED, CgroupHealth, cgroup_health
from steno.judge.scan import Reading

SCHEMA = "steno.correlation-report.v1"
# Ids that an agent with hooks gives its calls.
_IDS_OF_HOOK_AGENTS = frozenset(f"_meta.{key}" for key in CALL_ID_KEYS)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def correlation(layers: Layers) -> Correlation:
    reading = Reading.of(layers)
    joined = reading.once(join)
    counts = reading.scanned(CallScan).effects.counts if joined.calls else Counts()
    cgroup = cgroup_health(joined.facts)
    ambiguities = sorted({*cgroup.notes, *_of_layers(joined), *_of_calls(joined, counts)})
    return Correlation(
        schema=SCHEMA,
        run_id=joined.facts.run_id,
        status=_status(joined, cgroup, ambiguities),
        bindings=list(_bindings(joined, counts)),
        ambiguities=ambiguities,
    )


def _status(joined: Joined, cgroup: CgroupHealth, ambiguities: list[str]) -> str:
    if cgroup.correlation == FAILED:
        return "failed"
    whole = joined.is_complete and cgroup.correlation == CLEAN
    return "clean" if joined.policy and whole and not ambiguities else "partial"


def _of_layers(joined: Joined) -> Iterator[str]:
    facts = joined.facts
    asked = facts.start.shim not in {ANY_SHIM, NO_SHIM}
    if joined.kernel != COMPLETE:
        yield f"kernel_layer_{joined.kernel}"
    if not joined.policy:
        yield "policy_layer_absent"
    if not joined.sdk and (asked or not joined.policy):
        yield "sdk_layer_absent"
    if facts.start.shim in HOOK_AGENTS and not any(map(is_of_hook, joined.sdk)):
        yield "hooks_never_fired"
    if facts.sdk_intake is not None and facts.sdk_intake.refused is not None:
        yield f"sdk_log_refused:{facts.sdk_intake.refused}"
    for reason in {gap.reason for gap in facts.gaps} & health.LOST_CLAIMS:
        yield f"claims_incomplete:{reason}"
    yield from joined.log_faults


def _of_calls(joined: Joined, counts: Counts) -> Iterator[str]:
    has_hooks = any(map(is_of_hook, joined.sdk))
    let_through = seen = 0
    for place, call in enumerate(joined.calls):
        yield from _of_told(call, has_hooks=has_hooks, has_policy=bool(joined.policy))
        if call.decision is not None and joined.windows.of_call[place] is None:
            yield "clock_disorder"
        if counts.late.get(place):
            yield f"effects_after_call:{call.tool_call_id}"
        if call.let_through:
            let_through += 1
            seen += counts.alone[place] + counts.shared[place]
            yield from _of_window(joined, place, counts)
    if let_through and not seen:
        yield "policy_events_without_kernel_events"


def _of_told(call: ToldCall, *, has_hooks: bool, has_policy: bool) -> Iterator[str]:
    """What the layers tell of one call, without a look at the kernel."""
    name, decision = call.tool_call_id, call.decision
    if call.reused:
        yield f"tool_call_id_reused:{name}"
    if not call.ends:
        yield f"tool_call_without_end:{name}"
    if not call.tool_agrees:
        yield f"sdk_tool_name_differs:{name}"
    if decision is None:
        if has_policy and call.goes_through_policy:
            yield f"sdk_tool_call_without_policy_binding:{name}"
        return
    if call.let_through and decision.decision != "allow":
        yield f"policy_not_enforced:{name}"
    is_of_agent = decision.steno.id_from in _IDS_OF_HOOK_AGENTS and decision.steno.method == TOOL_CALL
    if has_hooks and is_of_agent and not call.said:
        yield f"hook_never_fired:{name}"


def _of_window(joined: Joined, place: int, counts: Counts) -> Iterator[str]:
    call, window = joined.calls[place], joined.windows.of_call[place]
    facts = joined.facts
    if window is None:
        return
    if facts.completed and window.start_ns > facts.end_ns:
        yield "clock_disorder"
    if joined.windows.groups.is_ambiguous(place):
        yield "session_cgroup_ambiguous_for_multiple_policy_events"
    elif window.process is None:
        if joined.kernel != ABSENT:
            yield f"server_process_not_seen:{call.tool_call_id}"
    elif not counts.alone[place]:
        yield f"call_without_effect:{call.tool_call_id}"


def _bindings(joined: Joined, counts: Counts) -> Iterator[Binding]:
    scope = joined.facts.scope
    cgroup_id = None if scope is None else scope.cgroup_id
    for place, call in enumerate(joined.calls):
        window = joined.windows.of_call[place]
        if call.decision is None:
            continue
        start_ns = call.decision.steno.start_ns
        allowed = call.decision.decision == "allow"
        yield Binding(
            tool_call_id=call.tool_call_id,
            policy_decision=call.decision.decision,
            cgroup_id=cgroup_id,
            kernel_event_count=counts.alone[place] if allowed else 0,
            window=WallWindow(
                _moment(joined, start_ns), _moment(joined, start_ns if window is None else window.end_ns)
            ),
        )


def _moment(joined: Joined, at_ns: int) -> str:
    """Wall-clock time: that of the run's start, and what the monotonic clock says since."""
    try:
        found = _EPOCH + timedelta(milliseconds=joined.facts.started_at_ms, microseconds=at_ns // 1000)
    except OverflowError:
        found = _LATEST
    return f"{found:%Y-%m-%dT%H:%M:%S.%f}Z"
