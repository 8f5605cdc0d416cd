"""How whole the kernel layer is, as far as the record itself can tell.

In: the facts of a run. Out: `complete` (the observer ran, and nothing is known to be missing), `partial` or
`absent`, with notes that say why. Never better than the evidence: a counter of what could not be seen makes
it partial.
"""

from __future__ import annotations

from typing import NamedTuple

from steno.derive.facts import RunFacts

# Gaps that take something away from this layer.
GAPS = frozenset(
    {
        "kernel_events_lost",
        "kernel_record_damaged",
        "observer_failed",
        "observer_killed",
        "processes_outlived",
        "blobs_lost",
        "after_unknown",
        "io_uring_unobserved",
        "kernel_calls_unreadable",
        "changes_unresolved",
    }
)
_COUNTERS = ("lost_events", "lost_blobs", "unreadable", "outlived", "unknown_parents", "unseen_exits")


class KernelHealth(NamedTuple):
    layer: str
    notes: list[str]
    lost_events: int


def of(facts: RunFacts) -> KernelHealth:
    kernel = facts.kernel
    gaps = sorted({gap.reason for gap in facts.gaps} & GAPS)
    if kernel is None:
        why = gaps or [f"observer_{facts.start.observer}"]
        return KernelHealth("absent", [f"kernel_layer_absent:{reason}" for reason in why], 0)
    counters = [f"{name}={getattr(kernel, name)}" for name in _COUNTERS if getattr(kernel, name)]
    missing = [*gaps, *counters, *([] if kernel.closed else ["not_closed"])]
    notes = [f"kernel_layer_partial:{reason}" for reason in missing]
    if kernel.elsewhere:  # they are in the table, under names that mean nothing here
        notes.append(f"changes_in_another_root:{kernel.elsewhere}")
    return KernelHealth("partial" if missing else "complete", notes, kernel.lost_events)
