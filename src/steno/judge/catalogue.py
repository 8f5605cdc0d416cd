"""What is concluded from a record, by name, and the function that makes each of the evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge import (
    asciicast,
    call_join,
    calls,
    correlation,
    files,
    health,
    kernel_lines,
    processes,
    summaries,
    surface,
)
from steno.judge.doings import Seeing
from steno.judge.facts import RunFacts
from steno.judge.one_pass import Reading, Scan

Derivation = Callable[[Layers], Iterator[bytes]]

# What is read for one of these alone.
SCANS: dict[str, type[Scan]] = {
    layout.KERNEL_LINES: kernel_lines.Lines,
    layout.PROCESSES: processes.Told,
    layout.FILES: files.Touched,
    layout.SURFACE: Seeing,
}


def derivations(layers: Layers) -> dict[str, Derivation]:
    facts = Reading.of(layers).once(RunFacts.of)
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


def scans_for(layers: Layers, names: Collection[str]) -> Iterator[type[Scan]]:
    """What is read off the table of system calls for these, as far as one pass can."""
    reading = Reading.of(layers)
    yield from (SCANS[name] for name in names if name in SCANS)
    if layout.HEALTH in names:
        yield from health.scans(reading)
    if not {layout.CALLS, layout.CORRELATION}.isdisjoint(names):
        yield from call_join.scans(reading)


def _empty(_layers: Layers) -> Iterator[bytes]:
    return iter(())
