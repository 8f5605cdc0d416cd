"""The kernel table in a trace: what changed something, or reached something, one by one; the rest as counts.

In: a run, whose table is read batch by batch. Out: lines of a trace. A row that changes a file,
opens one to write, uses the network, or acts on a process is an instant on the lane of its thread; every row
is in the counters, which have few steps however many rows there are. Memory is that of one batch, of the
counters, and of one entry a named thread. Never decides whether a row is true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from steno.evidence.wire import OPS
from steno.judge.types import NO_ERROR
from steno.model.events import MEANING_OF_OPEN, OPENING, RowBatch, category, result_word
from steno.model.run import Run
from steno.text import units
from steno.views.export.trace_events import (
    Lane,
    args_of,
    counter,
    instant_of,
    name_of,
    quoted,
    thread_name,
)

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
