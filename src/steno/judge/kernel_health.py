"""How whole the kernel layer is, as far as the record itself can tell.

In: the facts of a run. Out: `complete` (the observer ran, and nothing is known to be missing), `partial` or
`absent`, with notes that say why. Never better than the evidence: a counter of what could not be seen makes
it partial, and so does a fact that one of two witnesses should have seen and did not.
"""

from __future__ import annotations

from typing import NamedTuple

from steno.judge.facts import RunFacts

COMPLETE, PARTIAL, ABSENT = "complete", "partial", "absent"
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
        "core_unobserved",
        "kernel_calls_unreadable",
        "changes_unresolved",
        "process_origin_unknown",
        "process_end_unknown",
        "ring_buffer_drops",
        "witness_disagreement",
        "processes_escaped",
        "outside_reached",
        "recorder_reached",
    }
)
LOSSES = (
    "lost_events",
    "lost_blobs",
    "unreadable",
    "outlived",
    "unknown_parents",
    "unseen_exits",
    "ring_lost",
    "probe_unread",
    "probe_unplaced",
    "only_notify",
    "only_ebpf",
    "escaped",
)


class KernelHealth(NamedTuple):
    layer: str
    notes: list[str]
    ring_lost: int


def of(facts: RunFacts) -> KernelHealth:
    kernel = facts.kernel
    gaps = sorted({gap.reason for gap in facts.gaps} & GAPS)
    if facts.start.host.platform != "linux":
        return KernelHealth(ABSENT, ["kernel_layer_absent:not_linux"], 0)
    if kernel is None:
        why = gaps or ["not_installed" if facts.start.unobserved else f"observer_{facts.start.observer}"]
        return KernelHealth(ABSENT, [f"kernel_layer_absent:{reason}" for reason in why], 0)
    counters = [name for name in LOSSES if getattr(kernel, name)]
    missing = [*gaps, *counters, *([] if kernel.closed else ["not_closed"])]
    notes = [f"kernel_layer_partial:{reason}" for reason in missing]
    if kernel.elsewhere:  # they are in the table, under names that mean nothing here
        notes.append("changes_in_another_root")
    return KernelHealth(PARTIAL if missing else COMPLETE, notes, kernel.ring_lost)
