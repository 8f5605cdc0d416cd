"""A run as OpenTelemetry spans, `steno-<run_id>.otlp.jsonl`: the run, its processes and its tool calls.

In: a sealed run and a directory. Out: OTLP/JSON, the same bytes every time: each line is one
`ExportTraceServiceRequest` of at most `SPANS_A_LINE` spans, so that a collector takes it. Tool calls follow
the conventions for GenAI (`execute_tool`) and MCP, processes those for command-line programs; what these have
no name for begins with `steno.`. A claim is marked as one. Never sends anything, never says that a call
caused what was seen in its window.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

from steno.evidence import layout
from steno.evidence.kinds import NO_SHIM
from steno.judge.types import Exec
from steno.model.record import readable
from steno.model.run import Run
from steno.views.export import Exported
from steno.views.export.otlp_calls import call_spans
from steno.views.export.otlp_spans import Data, Spans, Value, attribute_list
from steno.views.export.placing import place_below

NAME = "steno-{run_id}.otlp.jsonl"
SPANS_A_LINE = 1000
ROOT = "run"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # as OpenTelemetry calls them


def export(run: Run, directory: Path) -> Exported:
    def write(out: IO[bytes]) -> None:
        with readable(run.folder):
            out.writelines(requests(run))

    path = place_below(directory, NAME.format(run_id=run.run_id), write)
    return Exported(path, tuple(_notes(run)))


def requests(run: Run) -> Iterator[bytes]:
    run.expect(layout.PROCESSES, layout.CALLS)
    resource = {"attributes": attribute_list(_resource(run))}
    scope = {"name": "steno", "version": run.facts.start.steno_version}
    spans = _spans(run)
    while some := list(islice(spans, SPANS_A_LINE)):
        told = {"resource": resource, "scopeSpans": [{"scope": scope, "spans": some}]}
        yield _line({"resourceSpans": [told]})


def _line(value: Data) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


def _notes(run: Run) -> Iterator[str]:
    if not run.has_kernel_layer:
        yield "the run has no kernel layer: no process is among the spans"


def _resource(run: Run) -> dict[str, Value]:
    host = run.facts.start.host
    return {
        "service.name": "steno",
        "service.version": run.facts.start.steno_version,
        "host.name": host.name,
        "host.arch": _ARCHITECTURES.get(host.machine, host.machine),
        "os.type": host.platform,
        "os.version": host.release,
        "steno.run.id": run.run_id,
    }


def _spans(run: Run) -> Iterator[Data]:
    spans = Spans(run.run_id, run.facts.started_at_ms)
    yield _root(spans, run)
    if run.has_kernel_layer:
        yield from _process_spans(spans, run)
    if run.has_calls:
        yield from call_spans(spans, run, parent=ROOT)


def _root(spans: Spans, run: Run) -> Data:
    facts, complete = run.facts, run.completeness
    command = facts.start.cmd_redacted
    attributes: dict[str, Value] = {
        "process.executable.name": _base_name(command[0] if command else "?"),
        "process.command_args": list(command),
        "process.working_directory": facts.start.cwd,
        "process.pid": facts.pid,
        "gen_ai.agent.name": None if facts.shim == NO_SHIM else facts.shim,
        "steno.run.id": facts.run_id,
        "steno.run.name": facts.start.name,
        "steno.run.root": run.root,
        "steno.run.complete": complete["complete"],
        "steno.run.gaps": complete["gaps"],
        **_ending(facts.exit_code, facts.signal),
    }
    gaps = [spans.event("steno.gap", facts.end_ns, {"reason": one.reason, "detail": one.detail})
            for one in facts.gaps]  # fmt: skip
    name = str(attributes["process.executable.name"])
    error = _error(facts.exit_code, facts.signal)
    return spans.span(ROOT, name, (0, facts.end_ns), attributes, events=gaps, error=error)


def process_key(number: int) -> str:
    return f"process {number}"


def _process_spans(spans: Spans, run: Run) -> Iterator[Data]:
    processes, execs = list(run.processes), run.execs_by_process()
    pids = {one.process: one.pid for one in processes}
    for one in processes:
        became = execs.get(one.process, [])
        last = next((exec_ for exec_ in reversed(became) if exec_.has_started), None)
        attributes: dict[str, Value] = {
            "process.executable.name": one.label,
            "process.executable.path": last.executable if last else None,
            "process.command_args": list(last.arguments) if last else None,
            "process.pid": one.pid,
            "process.parent_pid": pids.get(one.parent or 0),
            "steno.process.number": one.process,
            "steno.process.forked_only": None if last else True,
            "steno.process.threads": one.threads,
            "steno.process.kernel_events": one.n_events,
            "steno.process.outlived": one.still_running or None,
            **_ending(one.exit_code, one.signal),
        }
        ended_ns = run.facts.end_ns if one.ended_ns is None else one.ended_ns
        yield spans.span(
            process_key(one.process),
            one.label,
            (one.started_ns, ended_ns),
            attributes,
            parent=process_key(one.parent) if one.parent in pids and one.parent else ROOT,
            events=[_executed(spans, exec_) for exec_ in became],
            error=_error(one.exit_code, one.signal),
        )


def _executed(spans: Spans, one: Exec) -> Data:
    told: dict[str, Value] = {
        "process.executable.path": one.executable or one.requested,
        "process.command_args": list(one.arguments),
        "steno.result": one.result,
    }
    return spans.event("exec", one.at_ns, told)


def _ending(code: int | None, signal: str | None) -> dict[str, Value]:
    """A process that a signal ended has no code of its own; the run has the one that a shell would give."""
    failed = signal is not None or bool(code)
    return {
        "process.exit.code": code,
        "steno.exit.signal": signal,
        "error.type": (signal or str(code)) if failed else None,
    }


def _error(code: int | None, signal: str | None) -> str | None:
    if signal is not None:
        return f"ended by {signal}"
    return f"exit code {code}" if code else None


def _base_name(path: str) -> str:
    return path.rpartition("/")[2] or path
