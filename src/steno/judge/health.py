"""What was observed and what was not, never better than the evidence: the kernel, the cgroup, what was told.

The kernel layer is `complete` (the observer ran, and nothing is known to be missing), `partial` or `absent`.
What it showed can be laid at the door of this run, its cgroup correlation, `clean` where the command was born
into a cgroup of its own and all of it stayed there and was over at the end; `failed` where there is such a
scope, and what was seen cannot be tied to it. Notes are fixed words that say why.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from steno.evidence import kinds, wire
from steno.evidence.kinds import NO_SHIM
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch
from steno.judge import surface_names
from steno.judge.claims import claims_of
from steno.judge.facts import RunFacts
from steno.judge.scan import Reading, Scan

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


def kernel_health(facts: RunFacts) -> KernelHealth:
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


CLEAN, FAILED = "clean", "failed"
_BORN, _PROBE = "cgroup", "ebpf"


class CgroupHealth(NamedTuple):
    correlation: str
    notes: list[str]


def cgroup_health(facts: RunFacts) -> CgroupHealth:
    if failures := _failures(facts):
        return CgroupHealth(FAILED, failures)
    missing = _missing(facts)
    return CgroupHealth(PARTIAL if missing else CLEAN, missing)


def scope_without_names(facts: RunFacts) -> dict[str, Any] | None:
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
    return facts.kernel is not None and kernel_health(facts).layer != ABSENT


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


SCHEMA = "steno.observation-health.v1"
OWN_SCHEMA = "steno.health.v1"
MOST_LISTED = 20
# There is one word for a layer from which something is missing.
_WORDS = {PARTIAL: "partial_ringbuf_drops"}
_COUNTERS = (
    *LOSSES,
    *(
        "undecoded",
        "unresolved",
        "elsewhere",
        "unlisted",
        "unmet_forks",
        "privilege_lost",
        "listeners_refused",
    ),
)
# Gaps that take something away from what was told to the recorder.
LOST_CLAIMS = frozenset(
    {"intake_disturbed", "policy_log_damaged", "hook_log_damaged", "hook_payload_unreadable"}
)
_UNCONFIRMED, _BY_PROBE = wire.NOTES["unconfirmed"], wire.NOTES["by_probe"]
_OTHER_ROOT = wire.NOTES["other_root"]


class Disagreement(msgspec.Struct, frozen=True):
    op: str
    path: str
    seen_by: str


class Disagreements(msgspec.Struct, frozen=True):
    """What one witness saw and the other should have seen: how many, and the first ones by name."""

    count: int
    listed: list[Disagreement]


class OwnHealth(msgspec.Struct, frozen=True):
    schema: str
    observer: str
    observer_asked: str
    features: list[str]
    kernel_layer: str
    counters: dict[str, int]
    gaps: list[str]
    witness_disagreements: Disagreements
    scope: dict[str, Any] | None
    completed: bool
    streams: str


class Health(msgspec.Struct, frozen=True):
    """What was observed and what was not; never better than the evidence."""

    schema: str
    run_id: str
    platform: str
    kernel_layer: str
    ringbuf_drops: int
    policy_layer: str
    sdk_layer: str
    cgroup_correlation: str
    notes: list[str]
    steno: OwnHealth


class Unconfirmed:
    """What one witness saw and the other should have seen."""

    columns: ClassVar[tuple[str, ...]] = ("op", "path", "resolved", "notes")

    def __init__(self, run_id: str) -> None:
        self.found: set[tuple[str, str, str]] = set()  # operation, path, who saw it
        self._run_id = run_id

    @classmethod
    def begin(cls, layers: Layers) -> Self:
        return cls(layers.run_id)

    def take(self, batch: RowBatch) -> None:
        notes = batch.numbers("notes")
        rows = [row for row, bits in enumerate(notes) if bits & _UNCONFIRMED]
        names = zip(batch.texts("resolved", rows), batch.texts("path", rows), strict=True)
        for op, row, (resolved, path) in zip(batch.ops(rows), rows, names, strict=True):
            other_root = bool(notes[row] & _OTHER_ROOT)
            name = surface_names.path_name(resolved or path or b"", self._run_id, other_root=other_root)
            self.found.add((op, name, "ebpf" if notes[row] & _BY_PROBE else "notify"))


def scans(reading: Reading) -> list[type[Scan]]:
    return [Unconfirmed] if _disagreed(reading.once(RunFacts.of).kernel) else []


def health(layers: Layers) -> Health:
    reading = Reading.of(layers)
    facts = reading.once(RunFacts.of)
    kernel, cgroup = kernel_health(facts), cgroup_health(facts)
    claims = reading.once(claims_of)
    decided, said = bool(claims.policy), bool(claims.sdk) and facts.shim != NO_SHIM
    return Health(
        schema=SCHEMA,
        run_id=facts.run_id,
        platform=facts.start.host.platform,
        kernel_layer=_WORDS.get(kernel.layer, kernel.layer),
        ringbuf_drops=kernel.ring_lost,
        policy_layer="present" if decided else "absent",
        sdk_layer="self_reported" if said else "absent",
        cgroup_correlation=cgroup.correlation,
        notes=[
            *kernel.notes,
            *cgroup.notes,
            *([] if decided else ["policy_layer_absent"]),
            *([] if said else [f"sdk_layer_absent:shim_{facts.shim}"]),
            *_intake_notes(facts),
            *_probe_notes(facts),
            *_terminal_notes(facts),
        ],
        steno=_own(reading, facts, kernel.layer),
    )


def _own(reading: Reading, facts: RunFacts, layer: str) -> OwnHealth:
    kernel = facts.kernel
    return OwnHealth(
        schema=OWN_SCHEMA,
        observer="none" if kernel is None else kernel.observer,
        observer_asked=facts.start.observer,
        features=[] if kernel is None else sorted(kernel.features),
        kernel_layer=layer,
        counters={} if kernel is None else {name: getattr(kernel, name) for name in _COUNTERS},
        gaps=sorted({gap.reason for gap in facts.gaps}),
        witness_disagreements=_disagreements(reading, kernel),
        scope=scope_without_names(facts),
        completed=facts.completed,
        streams=facts.start.terminal.streams,
    )


def _disagreed(kernel: kinds.KernelObserved | None) -> int:
    return 0 if kernel is None else kernel.only_notify + kernel.only_ebpf


def _disagreements(reading: Reading, kernel: kinds.KernelObserved | None) -> Disagreements:
    """How many, and the first ones by name."""
    count = _disagreed(kernel)
    listed = sorted(reading.scanned(Unconfirmed).found) if count else []
    return Disagreements(count, [Disagreement(*one) for one in listed[:MOST_LISTED]])


def _intake_notes(facts: RunFacts) -> list[str]:
    """What was told to the recorder and could not be taken, and where it lay meanwhile."""
    notes = ["intake_on_disk"] if facts.start.intake == "disk" else []
    if facts.sdk_intake is not None and facts.sdk_intake.refused is not None:
        notes.append(f"sdk_log_refused:{facts.sdk_intake.refused}")
    lost = sorted({gap.reason for gap in facts.gaps} & LOST_CLAIMS)
    return notes + [f"claims_incomplete:{reason}" for reason in lost]


def _probe_notes(facts: RunFacts) -> list[str]:
    """A probe that was wanted and could not be had."""
    if facts.probe is None or facts.probe.state == "ready":
        return []
    return [f"probe_absent:{facts.probe.state}"]


def _terminal_notes(facts: RunFacts) -> list[str]:
    terminal = facts.start.terminal
    notes = ["stdout_and_stderr_merged"] if terminal.streams == "merged" else []
    notes += _split_notes(facts)
    if terminal.stdin == "inherited":
        notes.append("stdin_not_recorded")
    return notes + [f"terminal_held_by_others:{stream}" for stream in facts.held]


def _split_notes(facts: RunFacts) -> list[str]:
    """What is on the terminal and on neither of its streams, or may be: never silent."""
    split = facts.kernel.split if facts.kernel is not None else None
    if split is None:
        return ["stdout_and_stderr_not_split"] if facts.start.terminal.streams == "split" else []
    counts = {"bytes_unattributed": split.unattributed, "descriptors_unwatched": split.unwatched}
    return [f"terminal_{name}:{count}" for name, count in counts.items() if count]
