"""What was observed and what was not; never better than the evidence.

Besides `run_id` nothing in it differs between equal runs: no number of a process, no cgroup, no time, no
count of calls.
"""

from __future__ import annotations

from typing import ClassVar, Self

from steno.evidence import kinds, wire
from steno.evidence.kinds import NO_SHIM
from steno.evidence.layers import Layers
from steno.judge import cgroup_health, kernel_health, surface_names
from steno.judge.claim_layers import claims_of
from steno.judge.facts import RunFacts
from steno.judge.kernel_rows import RowBatch
from steno.judge.one_pass import Reading, Scan
from steno.judge.types import Disagreement, Disagreements, Health, OwnHealth

SCHEMA = "steno.observation-health.v1"
OWN_SCHEMA = "steno.health.v1"
MOST_LISTED = 20
# There is one word for a layer from which something is missing.
_WORDS = {kernel_health.PARTIAL: "partial_ringbuf_drops"}
_COUNTERS = (
    *kernel_health.LOSSES,
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
    kernel, cgroup = kernel_health.of(facts), cgroup_health.of(facts)
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
        scope=cgroup_health.scope(facts),
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
