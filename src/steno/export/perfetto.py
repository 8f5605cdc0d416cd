"""A run as a trace for ui.perfetto.dev."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from steno.evidence import layout
from steno.evidence.canonical import SAFE_INTEGER
from steno.evidence.wire import OPS
from steno.export import Exported
from steno.export.atomic import place_below
from steno.judge.calls.types import Call
from steno.judge.types import NO_ERROR, Exec, Process
from steno.model.events import MEANING_OF_OPEN, OPENING, RowBatch, category, result_word
from steno.model.record import checked, readable
from steno.model.run import Run
from steno.text import units
from steno.text.safe import ELLIPSIS, visible

LONGEST_NAME = 200
LONGEST_TEXT = 4000
_DEEPEST = 6
_MOST_ITEMS = 100

Data = dict[str, Any]


class Lane(NamedTuple):
    """Where something is drawn: a process of the trace, and a thread of it."""

    pid: int
    tid: int


def complete(name: str, lane: Lane, start_ns: int, end_ns: int, category: str, args: Data) -> str:
    duration = microseconds(max(end_ns - max(start_ns, 0), 0))
    return (
        f'{{"args":{args_of(args)},"cat":{quoted(category)},"dur":{duration},"name":{name_of(name)},"ph":"X",'
        f'"pid":{lane.pid},"tid":{lane.tid},"ts":{microseconds(start_ns)}}}'
    )


def instant(name: str, lane: Lane, at_ns: int, category: str, args: Data) -> str:
    return instant_of(name_of(name), args_of(args), lane, at_ns, quoted(category))


def instant_of(name: str, args: str, lane: Lane, at_ns: int, category: str) -> str:
    """The same of pieces that are JSON already; of a million rows few are new."""
    return (
        f'{{"args":{args},"cat":{category},"name":{name},"ph":"i","pid":{lane.pid},"s":"t",'
        f'"tid":{lane.tid},"ts":{microseconds(at_ns)}}}'
    )


def counter(name: str, pid: int, at_ns: int, values: dict[str, int]) -> str:
    return (
        f'{{"args":{args_of(values)},"name":{name_of(name)},"ph":"C","pid":{pid},"tid":0,'
        f'"ts":{microseconds(at_ns)}}}'
    )


def process_names(pid: int, name: str, *, label: str, place: int) -> list[str]:
    """What a process is called, what stands beside that, and where it stands among the others."""
    lane = Lane(pid, 0)
    return [
        _metadata("process_name", lane, {"name": short(name, LONGEST_NAME)}),
        _metadata("process_labels", lane, {"labels": short(label, LONGEST_NAME)}),
        _metadata("process_sort_index", lane, {"sort_index": place}),
    ]


def thread_name(lane: Lane, name: str) -> str:
    return _metadata("thread_name", lane, {"name": short(name, LONGEST_NAME)})


def microseconds(nanoseconds: int) -> str:
    whole = max(nanoseconds, 0)
    return f"{whole // 1000}.{whole % 1000:03d}"


def quoted(text: str) -> str:
    return encode_basestring_ascii(text)


def name_of(text: str) -> str:
    return quoted(short(text, LONGEST_NAME))


def short(text: str, longest: int) -> str:
    shown = visible(text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + ELLIPSIS


def _metadata(name: str, lane: Lane, args: Data) -> str:
    return f'{{"args":{args_of(args)},"name":"{name}","ph":"M","pid":{lane.pid},"tid":{lane.tid}}}'


def args_of(value: Data) -> str:
    return json.dumps(_bounded(value, 0), ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def _bounded(value: Any, depth: int) -> Any:
    """What a viewer can show of a value: no text without an end, no number that it would round."""
    match value:
        case str():
            return value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1] + ELLIPSIS
        case bool() | None | float():
            return value
        case int():
            return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
        case _ if depth == _DEEPEST:
            return ELLIPSIS
        case dict():
            kept = sorted(value.items())[:_MOST_ITEMS]
            found = {short(str(key), LONGEST_NAME): _bounded(item, depth + 1) for key, item in kept}
            return found if len(kept) == len(value) else {**found, ELLIPSIS: len(value) - len(kept)}
        case _:
            kept = [_bounded(item, depth + 1) for item in value[:_MOST_ITEMS]]
            return kept if len(kept) == len(value) else [*kept, f"{ELLIPSIS} {len(value) - len(kept)} more"]


MOST_STEPS = 1000
_MOST_NAMED = 100_000  # threads; the lanes of others bear their number alone
_COLUMNS = ("mono_ns", "process", "tid", "op", "call", "path", "resolved", "extra", "result", "arg", "arg2")
_TEXTS = ("call", "path", "resolved", "extra")
_QUIET = frozenset({"process", "fork", "exec", "interpreter", "exit", "personality", "socket"})
# operations that are an instant each; of those that open a file only the ones that may change it
SHOWN = frozenset(
    op.name
    for op in OPS.values()
    if op.name not in _QUIET and (op.changes or op.category != "file" or op.name in OPENING)
)
_MAY_CHANGE = MEANING_OF_OPEN  # the flags by which a file may be changed
_LONGEST_WORD = 120

_Row = tuple[Any, ...]


class KernelRows:
    def __init__(self, run: Run, *, end_ns: int, counters: int) -> None:
        """`counters`: the process of the trace that the counters stand beside."""
        self._of = run
        self._step = max(end_ns, 0) // MOST_STEPS + 1
        self._counters = counters
        self._threads: set[Lane] = set()
        self._counts: Counter[tuple[int, str]] = Counter()
        self.rows = 0
        self.instants = 0

    def lines(self) -> Iterator[str]:
        for batch in self._of.recorded_batches(_COLUMNS):
            self.rows += batch.count
            self._count(batch)
            yield from self._instants(batch)
        yield from self._counter_lines()

    def _count(self, batch: RowBatch) -> None:
        steps = [min(max(at, 0) // self._step, MOST_STEPS) for at in batch.numbers("mono_ns")]
        self._counts.update(zip(steps, batch.ops(), strict=True))

    def _instants(self, batch: RowBatch) -> Iterator[str]:
        rows = _shown(batch)
        known: dict[_Row, tuple[str, str, str]] = {}
        times, processes, threads = (batch.numbers(name, rows) for name in ("mono_ns", "process", "tid"))
        told = zip(
            batch.ops(rows),
            *(batch.texts(name, rows) for name in _TEXTS),
            batch.optional("result", rows),
            *(batch.numbers(name, rows) for name in ("arg", "arg2")),
            strict=True,
        )
        for at, process, tid, row in zip(times, processes, threads, told, strict=True):
            lane = Lane(process, tid)
            if lane not in self._threads and len(self._threads) < _MOST_NAMED:
                self._threads.add(lane)
                yield thread_name(lane, f"thread {tid}")
            pieces = known.get(row)
            if pieces is None:
                pieces = known[row] = _pieces(row)
            yield instant_of(pieces[0], pieces[1], lane, at, pieces[2])
        self.instants += len(rows)

    def _counter_lines(self) -> Iterator[str]:
        name = f"kernel events in {units.duration(self._step)}"
        sums: dict[int, Counter[str]] = {}
        for (step, op), count in self._counts.items():
            sums.setdefault(step, Counter())[category(op)] += count
        kinds = sorted({kind for one in sums.values() for kind in one})
        for step in sorted({*sums, *(step + 1 for step in sums)}):
            found = sums.get(step, Counter())
            values = {kind: found[kind] for kind in kinds}
            yield counter(name, self._counters, step * self._step, values)


def _shown(batch: RowBatch) -> Sequence[int]:
    rows = batch.rows_of(SHOWN)
    ops, flags = batch.ops(rows), batch.numbers("arg", rows)
    return [
        row for row, op, flag in zip(rows, ops, flags, strict=True) if op not in OPENING or flag & _MAY_CHANGE
    ]


def _pieces(row: _Row) -> tuple[str, str, str]:
    """The name, the arguments and the category of an instant, as JSON."""
    op, call, path, resolved, extra, result, arg, arg2 = row
    word = result_word(result)
    told = {"call": _text(call), "path": _text(resolved or path), "extra": _text(extra), "result": word}
    args: dict[str, Any] = {name: value for name, value in told.items() if value}
    if resolved and path and path != resolved:
        args["requested"] = _text(path)
    args |= {name: number for name, number in (("arg", arg), ("arg2", arg2)) if number}
    kind = category(op)
    verb = "open to write" if op in OPENING else op.replace("_", " ")
    failed = "" if word in NO_ERROR else f": {word}"
    where = f" {_last_word(_text(resolved or path), kind)}" if resolved or path else ""
    return name_of(f"{verb}{where}{failed}"), args_of(args), quoted(kind)


def _last_word(text: str, kind: str) -> str:
    """Of a path the last name, which is what fits on a mark."""
    return (text.rpartition("/")[2] or text if kind == "file" else text)[:_LONGEST_WORD]


def _text(value: bytes | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return value.replace(b"\0", b" ").decode("utf-8", "backslashreplace")


NAME = "steno-{run_id}.perfetto.json"
SCHEMA = "steno.perfetto.v1"
RUN = 2_000_000_000  # the process of the trace that stands for the run; no number of a recorded one
_EVENTS, _DECISIONS, _CLAIMS, _CALLS = Lane(RUN, 1), Lane(RUN, 2), Lane(RUN, 3), Lane(RUN, 10)
_FIRST = -1


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
