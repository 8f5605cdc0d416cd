"""What is concluded from a record, by name, and the function that makes each of the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge import (
    asciicast,
    calls,
    correlation,
    files,
    health,
    kernel_lines,
    processes,
    summaries,
    surface,
)
from steno.judge.facts import RunFacts

Derivation = Callable[[Layers], Iterator[bytes]]


def derivations(layers: Layers) -> dict[str, Derivation]:
    facts = RunFacts.of(layers)
    found: dict[str, Derivation] = {layout.KERNEL_LINES: _empty}
    found |= {
        layout.RUN: summaries.run,
        layout.REDACTION_REPORT: summaries.redaction_report,
        layout.HEALTH: health.health,
        layout.SURFACE: surface.surface,
        layout.CORRELATION: correlation.correlation,
        layout.CALLS: calls.calls,
        layout.CAST: asciicast.cast,
    }
    if layers.has(layout.KERNEL_TABLE):
        found |= {
            layout.KERNEL_LINES: kernel_lines.kernel_lines,
            layout.PROCESSES: processes.processes,
            layout.FILES: files.files,
        }
    if facts.before is not None and facts.before.reason is None:
        found[layout.REPO_BEFORE] = summaries.repo_before
    if facts.after is not None and facts.after.reason is None:
        found[layout.REPO_AFTER] = summaries.repo_after
    return found


def _empty(_layers: Layers) -> Iterator[bytes]:
    return iter(())
