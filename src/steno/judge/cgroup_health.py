"""Whether what the kernel showed can be laid at the door of this run: the correlation by its cgroup.

In: the facts of a run. Out: `clean` (the command was born into a cgroup of its own, all of it stayed there
and was over at the end, and the kernel layer is there), `partial` (there is no such scope, or not to the
end) or `failed` (there is one, and what was seen cannot be tied to it), with fixed notes that say why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from steno.judge import kernel_health
from steno.judge.facts import RunFacts

CLEAN, PARTIAL, FAILED = "clean", "partial", "failed"
_BORN, _PROBE = "cgroup", "ebpf"


class CgroupHealth(NamedTuple):
    correlation: str
    notes: list[str]


def of(facts: RunFacts) -> CgroupHealth:
    if failures := _failures(facts):
        return CgroupHealth(FAILED, failures)
    missing = _missing(facts)
    return CgroupHealth(PARTIAL if missing else CLEAN, missing)


def scope(facts: RunFacts) -> dict[str, Any] | None:
    """The scope without what differs between equal runs: no number and no path of it."""
    if facts.scope is None:
        return None
    end = facts.scope_end
    return {
        "hierarchy": facts.scope.hierarchy,
        "reason": facts.scope.reason,
        "born_into": _born_into(facts),
        "empty": None if end is None else end.empty,
        "removed": None if end is None else end.removed,
        "left": None if end is None else end.left_count,
    }


def _made(facts: RunFacts) -> bool:
    return facts.scope is not None and facts.scope.cgroup_id is not None and facts.scope.reason is None


def _born_into(facts: RunFacts) -> bool:
    return _made(facts) and facts.kernel is not None and _BORN in facts.kernel.features


def _observed(facts: RunFacts) -> bool:
    return facts.kernel is not None and kernel_health.of(facts).layer != kernel_health.ABSENT


def _failures(facts: RunFacts) -> list[str]:
    kernel = facts.kernel
    if kernel is None or not _observed(facts) or not _made(facts):
        return []
    if _BORN not in kernel.features:
        return ["cgroup_correlation_failed:not_born_into_scope"]
    # The probe shows all that is in the cgroup; what nobody of ours has started came from elsewhere.
    if _PROBE in kernel.features and kernel.unknown_parents:
        return ["cgroup_correlation_failed:processes_of_unknown_origin"]
    return []


def _missing(facts: RunFacts) -> list[str]:
    if not _made(facts):
        reason = facts.scope.reason if facts.scope is not None else None
        return [f"cgroup_scope_absent:{reason or 'not_made'}"]
    if not _observed(facts):
        return ["cgroup_correlation_partial:kernel_layer_absent"]
    if facts.scope_end is None:
        return ["cgroup_correlation_partial:end_unknown"]
    left = not facts.scope_end.empty or facts.scope_end.left_count > 0
    escaped = facts.kernel is not None and facts.kernel.escaped > 0
    found = {"processes_left": left, "processes_escaped": escaped}
    return [f"cgroup_correlation_partial:{what}" for what, so in found.items() if so]
