"""Every process that was observed, what it executed and how it ended, and who started whom.

Rows of process 0 tell of the recording itself and belong to nobody. A circle of parents, which no kernel
makes, is opened, and no depth exhausts the stack.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from itertools import count
from typing import Any, ClassVar, NamedTuple, Self

from msgspec.structs import replace

from steno.evidence import wire
from steno.evidence.layers import Layers
from steno.evidence.linux_numbers import signal_name
from steno.evidence.syscalls import RowBatch, distinct_rows, result_word
from steno.judge.facts import RunFacts
from steno.judge.scan import Reading
from steno.judge.types import STENO, TOOL, TOP, Exec, Process, outcome_of

_COLUMNS = ("mono_ns", "process", "tid", "op", "path", "resolved", "extra", "result", "notes", "arg", "arg2")
_TOLD = frozenset({"process", "exec", "interpreter", "exit", "outlived"})
_NOBODY = 0
COMMAND, AGENT, SERVER = "command", "agent", "server"
_PID_BITS = 32
_CORE_BIT = 0x80
_SIGNAL_BITS = 0x7F
_END = b"\0"


class _Row(NamedTuple):
    mono_ns: int
    process: int
    op: str
    path: bytes | None
    resolved: bytes | None
    extra: bytes | None
    result: int | None
    notes: int
    arg: int
    arg2: int


class _Process:
    def __init__(self, number: int, started_ns: int) -> None:
        self.number = number
        self.started_ns = started_ns
        self.events = 0
        self.tids: set[int] = set()
        self._execs: list[Exec] = []
        self._told: dict[str, Any] = {}

    def take(self, row: _Row) -> None:
        match row.op:
            case "process":
                self._told["pid"] = row.arg & ((1 << _PID_BITS) - 1)
                self._told["parent"] = row.arg >> _PID_BITS or None
                self._told["start_ticks"] = row.arg2
            case "exec":
                self._execs.append(_exec(row))
            case "interpreter":
                if self._execs:
                    name = row.resolved or row.path or b""
                    argument = row.extra or None
                    self._execs[-1] = replace(
                        self._execs[-1], interpreter_bytes=name, interpreter_argument=argument
                    )
            case "exit":
                self._told |= {"ended_ns": row.mono_ns, "end_known": "kernel" if row.arg2 else "asked"}
                ended = exit_of(row.arg)
                self._told |= {"exit_code": ended.get("code"), "signal": ended.get("signal")}
                self._told["core_dumped"] = ended.get("core", False)
            case "outlived":
                self._told["still_running"] = True

    def process(self) -> Process:
        return Process(
            process=self.number,
            started_ns=self.started_ns,
            threads=len(self.tids),
            n_events=self.events,
            execs=self._execs,
            **self._told,
        )


class Told:
    """Every process of the table, by its number."""

    columns: ClassVar[tuple[str, ...]] = _COLUMNS
    whole: ClassVar[bool] = True

    def __init__(self) -> None:
        self.found: dict[int, _Process] = {}

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def take(self, batch: RowBatch) -> None:
        _take(batch, self.found)


def processes(layers: Layers) -> list[Process]:
    """Every process that was observed, in order of their numbers; what was not seen of one is None."""
    reading = Reading.of(layers)
    found = reading.scanned(Told).found
    told = [found[number].process() for number in sorted(found)]
    roles = _roles(reading, told)
    numbers = count(1)
    return named(
        [
            replace(
                one,
                role=roles.get(one.process, TOOL),
                execs=[replace(run, exec=next(numbers)) for run in one.execs],
            )
            for one in told
        ]
    )


def _roles(reading: Reading, found: list[Process]) -> dict[int, str]:
    """What each process is to the run: of those that are no tool."""
    servers = {
        (one.server_process.pid, one.server_process.start_ticks)
        for one in reading.once(RunFacts.of).connections
        if one.server_process
    }
    own = reading.own.processes
    return {
        **{one.process: COMMAND for one in found[:1]},
        **{one.process: SERVER for one in found if (one.pid, one.start_ticks) in servers},
        **{one.parent: AGENT for one in found if one.process in own and one.parent and one.parent not in own},
        **dict.fromkeys(own, STENO),
    }


def _take(batch: RowBatch, found: dict[int, _Process]) -> None:
    threads = distinct_rows(batch, ("process", "tid"))
    columns = (batch.numbers(name, threads.rows) for name in ("process", "tid", "mono_ns"))
    for times, number, tid, mono_ns in zip(threads.times, *columns, strict=True):
        if number == _NOBODY:
            continue
        process = found.get(number)
        if process is None:
            process = found[number] = _Process(number, mono_ns)
        process.tids.add(tid)
        process.events += times
    rows = batch.rows_of(_TOLD)
    if not rows:
        return
    told = (
        batch.numbers("mono_ns", rows),
        batch.numbers("process", rows),
        batch.ops(rows),
        batch.texts("path", rows),
        batch.texts("resolved", rows),
        batch.texts("extra", rows),
        batch.optional("result", rows),
        batch.numbers("notes", rows),
        batch.numbers("arg", rows),
        batch.numbers("arg2", rows),
    )
    for row in map(_Row._make, zip(*told, strict=True)):
        if row.process != _NOBODY:
            found[row.process].take(row)


def _exec(row: _Row) -> Exec:
    outcome, error = outcome_of(result_word(row.result))
    return Exec(
        process=row.process,
        at_ns=row.mono_ns,
        requested_bytes=row.path or b"",
        executable_bytes=row.resolved or row.path or b"",
        words=row.extra.removesuffix(_END).split(_END) if row.extra else [],
        n_arguments=row.arg,
        arguments_cut=bool(row.notes & wire.NOTES["argv_cut"]),
        outcome=outcome,
        error=error,
        privilege_lost=bool(row.notes & wire.NOTES["privilege_lost"]),
    )


def exit_of(status: int) -> dict[str, Any]:
    number = status & _SIGNAL_BITS
    if not number:
        return {"code": status >> 8 & 0xFF}
    return {"signal": signal_name(number), "core": bool(status & _CORE_BIT)}


class Descent:
    """Who started whom: `below` has the numbers by that of the parent, or by TOP."""

    def __init__(self, processes: list[Process]) -> None:
        self._known = {one.process: one for one in processes}
        self.below: dict[int, list[int]] = defaultdict(list)
        self.order = list(self._top_down())

    @property
    def labels(self) -> dict[int, str]:
        """The program of each; a copy is what its parent is."""
        return {number: one.label for number, one in self._known.items()}

    def _top_down(self) -> list[int]:
        started: dict[int, list[int]] = defaultdict(list)
        for number in sorted(self._known):
            parent = self._known[number].parent
            started[parent if parent in self._known and parent != number else TOP].append(number)
        order: list[int] = []
        placed = {TOP}
        for root in [*started[TOP], *sorted(self._known)]:  # what is in a circle is reached from no root
            waiting = [(root, TOP)]
            while waiting:
                number, parent = waiting.pop()
                if number not in placed:
                    placed.add(number)
                    order.append(number)
                    self.below[parent].append(number)
                    waiting += [(child, number) for child in reversed(started[number])]
        return order


def named(processes: list[Process]) -> list[Process]:
    """The same, each with its names, and a number that two share when they and all below did the same."""
    known, descent = {one.process: one for one in processes}, Descent(processes)
    for number in descent.order:
        one = known[number]
        above = known.get(one.parent or TOP)
        label, title = _names(one, (above.label if above else "") or "a process")
        known[number] = replace(one, label=label, title=title)
    numbered: dict[tuple[object, ...], int] = {}
    for number in reversed(descent.order):
        one = known[number]
        ended = (one.exit_code, one.signal, one.core_dumped, one.still_running)
        below = tuple(sorted(known[child].alike for child in descent.below[number]))
        known[number] = replace(one, alike=numbered.setdefault((one.title, ended, below), len(numbered) + 1))
    return [known[one.process] for one in processes]


def _names(process: Process, above: str) -> tuple[str, str]:
    started = [one for one in process.execs if one.has_started]
    if started:
        *earlier, last = started
        return last.program, " → ".join([*(one.program for one in earlier), _command(last)])
    words = f"({above}, forked)"
    if process.execs:
        failed = process.execs[-1]
        words += f" could not run {failed.requested or failed.executable or '?'}: {failed.result}"
    return above, words


def _command(one: Exec) -> str:
    words = shlex.join(one.arguments) if one.words else one.requested or one.executable or "?"
    if one.arguments_cut:
        words += " …"
    names = {path.rpartition("/")[2] for path in (one.requested, one.executable) if path}
    if one.words and names and one.arguments[0].rpartition("/")[2].removeprefix("-") not in names:
        # Its own name for itself is a claim; the file that was executed is the fact.
        words = f"{shlex.quote(one.requested or one.executable or '?')} (as {words})"
    if one.interpreter:
        words += f" (by {one.interpreter})"
    return f"{words} (without its privilege)" if one.privilege_lost else words
