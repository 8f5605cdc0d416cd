"""`processes.json`: every process that was observed, what it executed and how it ended.

In: layers with a kernel table. Out: canonical JSON, the processes in order of their numbers. Only what the
table says: a parent, an end or an argument that was not seen is null or said to be unknown. Rows of process 0
tell of the recording itself and belong to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Self

from steno.evidence import canonical, wire
from steno.evidence.layers import Layers
from steno.evidence.linux_numbers import signal_name
from steno.judge.distinct import distinct_rows
from steno.judge.kernel_rows import RowBatch, named_text, result_word
from steno.judge.one_pass import Reading

SCHEMA = "steno.processes.v1"
_COLUMNS = ("mono_ns", "process", "tid", "op", "path", "resolved", "extra", "result", "notes", "arg", "arg2")
_TOLD = frozenset({"process", "exec", "interpreter", "exit", "outlived"})
_NOBODY = 0
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
    def __init__(self, number: int, first_ns: int) -> None:
        self.facts: dict[str, Any] = {
            "process": number,
            "parent": 0,
            "pid": None,
            "start_ticks": None,
            "ended_ns": None,
            "execs": [],
            "exit": None,
            "exit_known": "unknown",
            "outlived": False,
        }
        self.first_ns = first_ns
        self.events = 0
        self.tids: set[int] = set()

    def take(self, row: _Row) -> None:
        match row.op:
            case "process":
                self.facts["pid"] = row.arg & ((1 << _PID_BITS) - 1)
                self.facts["parent"] = row.arg >> _PID_BITS
                self.facts["start_ticks"] = row.arg2
            case "exec":
                self.facts["execs"].append(_exec(row))
            case "interpreter":
                if self.facts["execs"]:
                    self.facts["execs"][-1]["interpreter"] = _interpreter(row)
            case "exit":
                self.facts["ended_ns"] = row.mono_ns
                self.facts["exit"] = exit_of(row.arg)
                self.facts["exit_known"] = "kernel" if row.arg2 else "asked"
            case "outlived":
                self.facts["outlived"] = True

    def told(self) -> dict[str, Any]:
        return {
            **self.facts,
            "first_ns": self.first_ns,
            "threads": len(self.tids),
            "events": self.events,
        }


class Told:
    """Every process of the table, by its number."""

    columns: ClassVar[tuple[str, ...]] = _COLUMNS

    def __init__(self) -> None:
        self.found: dict[int, _Process] = {}

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def take(self, batch: RowBatch) -> None:
        _take(batch, self.found)


def processes(layers: Layers) -> Iterator[bytes]:
    found = Reading.of(layers).scanned(Told).found
    head = {"run_id": layers.run_id, "schema": SCHEMA}
    yield b'{"processes":['
    for position, number in enumerate(sorted(found)):
        yield (b"," if position else b"") + canonical.encode(found[number].told())
    yield b"]," + canonical.encode(head)[1:]


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


def _exec(row: _Row) -> dict[str, Any]:
    words = (row.extra or b"").removesuffix(_END).split(_END) if row.extra else []
    return {
        "at_ns": row.mono_ns,
        **named_text("requested", row.path or b"", readable=True),
        **named_text("path", row.resolved or row.path or b"", readable=True),
        **_arguments(words),
        "argc": row.arg,
        "argv_cut": bool(row.notes & wire.NOTES["argv_cut"]),
        "interpreter": None,
        "result": result_word(row.result),
        "privilege_lost": bool(row.notes & wire.NOTES["privilege_lost"]),
    }


def _arguments(words: list[bytes]) -> dict[str, list[str]]:
    named = [named_text("word", word, readable=True) for word in words]
    told = {"argv": [each["word"] for each in named]}
    if any("word_b64" in each for each in named):
        told["argv_b64"] = [each.get("word_b64", "") for each in named]
    return told


def _interpreter(row: _Row) -> dict[str, Any]:
    argument = named_text("argument", row.extra, readable=True) if row.extra else {"argument": None}
    return {**named_text("path", row.resolved or row.path or b"", readable=True), **argument}


def exit_of(status: int) -> dict[str, Any]:
    number = status & _SIGNAL_BITS
    if not number:
        return {"code": status >> 8 & 0xFF}
    return {"signal": signal_name(number), "core": bool(status & _CORE_BIT)}
