"""A run as a Chrome trace, `steno-<run_id>.perfetto.json`: for ui.perfetto.dev and chrome://tracing.

In: a sealed run and a directory. Out: one JSON document, the same bytes every time, written as the bundle
is read: memory does not grow with the number of kernel events. Times count from the start of the run. A
process of the trace is one of the record, under the number that it has there, because those of the system are
used again. What was not recorded is left out and said. Never reads a live run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import msgspec

from steno.evidence import layout
from steno.judge.calls.types import Call
from steno.judge.types import Exec, Process
from steno.model.record import checked, readable
from steno.model.run import Run
from steno.views.export import Exported
from steno.views.export.perfetto_rows import KernelRows
from steno.views.export.placing import place_below
from steno.views.export.trace_events import (
    Lane,
    args_of,
    complete,
    instant,
    process_names,
    thread_name,
)

NAME = "steno-{run_id}.perfetto.json"
SCHEMA = "steno.perfetto.v1"
RUN = 2_000_000_000  # the process of the trace that stands for the run; no number of a recorded one
_EVENTS, _DECISIONS, _CLAIMS, _CALLS = Lane(RUN, 1), Lane(RUN, 2), Lane(RUN, 3), Lane(RUN, 10)
_FIRST = -1

Data = dict[str, Any]


def export(run: Run, directory: Path) -> Exported:
    trace = ChromeTrace(run)

    def write(out: IO[bytes]) -> None:
        with readable(run.folder):
            out.writelines(trace.blocks())

    path = place_below(directory, NAME.format(run_id=run.run_id), write)
    return Exported(path, tuple(trace.notes()))


class ChromeTrace:
    def __init__(self, run: Run) -> None:
        self._of = run
        self._end_ns = run.facts.end_ns
        self._rows = KernelRows(run, end_ns=self._end_ns, counters=RUN)

    def blocks(self) -> Iterator[bytes]:
        """The document, line by line: every event has a line of its own."""
        self._of.expect(layout.PROCESSES, layout.CALLS)
        yield (
            f'{{"displayTimeUnit":"ms","otherData":{args_of(self._about())},"traceEvents":[\n'.encode("ascii")
        )
        before = ""
        for line in self._lines():
            yield f"{before}{line}".encode("ascii")
            before = ",\n"
        yield b"\n]}\n"

    def notes(self) -> Iterator[str]:
        """What the bundle holds, or lacks, and the trace does not show."""
        if not self._of.has_kernel_layer:
            yield "the run has no kernel layer: no process and no file is in the trace"
        elif self._rows.rows > self._rows.instants:
            rows, quiet = self._rows.rows, self._rows.rows - self._rows.instants
            yield f"{quiet} of {rows} kernel events changed and reached nothing: counted, not shown"

    def _about(self) -> Data:
        facts, completeness = self._of.facts, self._of.completeness
        return {
            "schema": SCHEMA,
            "run_id": facts.run_id,
            "root": self._of.root,
            "started_at_ms": facts.started_at_ms,
            "steno_version": facts.start.steno_version,
            "complete": completeness["complete"],
            "gaps": completeness["gaps"],
        }

    def _lines(self) -> Iterator[str]:
        yield from self._run()
        yield from self._told()
        yield from _calls(self._of)
        if self._of.has_kernel_layer:
            yield from _processes(self._of, self._end_ns)
            with checked(self._of.documents, layout.KERNEL_TABLE):
                yield from self._rows.lines()

    def _run(self) -> Iterator[str]:
        facts = self._of.facts
        command = shlex.join(facts.start.cmd_redacted)
        yield from process_names(RUN, "run", label=facts.run_id, place=_FIRST)
        yield thread_name(_EVENTS, "run")
        args = {**self._about(), "command": command, "cwd": facts.start.cwd, "exit_code": facts.exit_code}
        yield complete(command, _EVENTS, 0, self._end_ns, "run", args)
        for event in self._of.evidence.events():
            data: Data = msgspec.to_builtins(event.data)
            yield instant(event.type, _EVENTS, event.mono_ns, "run", data)

    def _told(self) -> Iterator[str]:
        """What policy decided, which is a fact, and what an agent says it did then, which is a claim."""
        decided, said = self._of.policy_lines(), self._of.sdk_lines()
        if decided:
            yield thread_name(_DECISIONS, "policy decisions")
        for line in decided:
            name = f"{line.decision} {line.steno.server}.{line.tool}"
            args = {
                "tool_call_id": line.tool_call_id,
                "reason": line.steno.reason,
                "outcome": line.steno.outcome,
            }
            yield instant(name, _DECISIONS, line.steno.start_ns, "policy", args)
        timed = [(line.steno.at_ns, line) for line in said if line.steno and line.steno.at_ns is not None]
        if timed:
            yield thread_name(_CLAIMS, "said by the agent (claims)")
        for at_ns, claim in timed:
            args = {"tool_call_id": claim.tool_call_id, "source": claim.source}
            yield instant(f"{claim.event_type} {claim.tool or ''}", _CLAIMS, at_ns, "claim", args)


def _calls(run: Run) -> Iterator[str]:
    """Calls may overlap, slices of one lane must not: a call takes the first lane that is free."""
    if not run.has_calls:
        return
    windows = [
        (call.window.start_ns, call.window.end_ns, place, call)
        for place, call in enumerate(run.told_calls.calls)
        if call.window is not None
    ]
    free_from: list[int] = []
    for start_ns, end_ns, _, call in sorted(windows, key=lambda one: one[:3]):
        number = next((one for one, until in enumerate(free_from) if until <= start_ns), len(free_from))
        lane = Lane(RUN, _CALLS.tid + number)
        if number == len(free_from):
            free_from.append(0)
            yield thread_name(lane, f"tool calls {number + 1}")
        free_from[number] = max(end_ns, start_ns + 1)
        yield complete(call.name, lane, start_ns, end_ns, "call", _of_call(call))


def _of_call(call: Call) -> Data:
    args: Data = {"tool_call_id": call.tool_call_id, "verdict": call.verdict}
    if call.decided is not None:
        args |= {"decision": call.decided.decision, "outcome": call.decided.outcome}
    if call.said is not None:
        args |= {"said_by": call.said.source, "corroboration": call.said.corroboration}
    if call.window is not None:
        args |= {"window_told_by": call.window.told_by, "process": call.window.process}
    if call.seen is not None:
        args |= {
            "kernel_events": call.seen.n_events,
            "files_changed": call.files_changed,
            "endpoints": call.endpoints,
            "execs": call.programs,
        }
    contradictions = [check.detail for check in call.contradictions]
    return {**args, "contradicted": contradictions} if contradictions else args


def _processes(run: Run, end_ns: int) -> Iterator[str]:
    names, execs = run.descent.labels, run.execs_by_process()
    for one in run.processes:
        lane = Lane(one.process, one.process)
        label = "" if one.pid is None else f"pid {one.pid}"
        yield from process_names(one.process, one.label, label=label, place=one.process)
        yield thread_name(lane, "programs")
        above = names.get(one.parent) if one.parent is not None else None
        yield from _programs(one, execs.get(one.process, []), lane, above, end_ns)


def _programs(one: Process, execs: list[Exec], lane: Lane, above: str | None, end_ns: int) -> Iterator[str]:
    """One slice after the other for what the process was: a copy of its parent, then each program."""
    first_ns = one.started_ns
    last_ns = max(first_ns, end_ns if one.ended_ns is None else one.ended_ns)
    about = {"process": one.process, "parent": one.parent or 0, "pid": one.pid, "ended": _ending(one)}
    ran = sorted((exec_ for exec_ in execs if exec_.has_started), key=lambda exec_: exec_.at_ns)
    bounds = [min(max(exec_.at_ns, first_ns), last_ns) for exec_ in ran]
    if not ran or bounds[0] > first_ns:
        name = "(not a program yet)" if above is None else f"({above}, forked)"
        copied_until = bounds[0] if bounds else last_ns
        yield complete(name, lane, first_ns, copied_until, "process", about)
    for exec_, (start_ns, until_ns) in zip(ran, pairwise([*bounds, last_ns]), strict=True):
        yield complete(exec_.program, lane, start_ns, until_ns, "process", {**about, **_of_exec(exec_)})
    for exec_ in execs:
        if not exec_.has_started:
            name = f"could not run {exec_.program}: {exec_.result}"
            yield instant(name, lane, exec_.at_ns, "process", _of_exec(exec_))


def _of_exec(one: Exec) -> Data:
    return {"argv": one.arguments, "path": one.executable, "requested": one.requested, "result": one.result}


def _ending(one: Process) -> str:
    if one.still_running:
        return "alive when the command had ended"
    if not one.has_ended:
        return "not seen"
    return f"by {one.signal}" if one.signal else f"exit code {one.exit_code}"
