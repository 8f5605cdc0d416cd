"""The rows of processes, of the programs they became, and of the calls that the kernel saw."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from steno.evidence import layout
from steno.evidence.wire import NOTES
from steno.judge.files import kind_of
from steno.judge.kernel_rows import COLUMNS, DICTIONARIES, RowBatch, batches, result_word
from steno.model import rows
from steno.model.descent import Descent
from steno.model.kernel_layer import Exec, KernelLayer, Line, Process, bytes_of, checked, whole

_DONE, _UNKNOWN = "ok", "unknown"
_NUMBERS = frozenset({"mono_ns", "process", "tid", "notes", "arg", "arg2"})
_SIGN, _RANGE = 1 << 63, 1 << 64


def processes(found: list[Process], descent: Descent, *, goes_on: bool) -> Iterator[rows.Process]:
    for one in found:
        last = _last_program(one)
        yield rows.Process(
            process=one.process,
            parent=one.parent or None,
            pid=None if one.pid is None else whole(one.pid),
            program=last.program if last else None,
            command=shlex.join(last.argv) if last else None,
            started_ns=whole(one.first_ns),
            ended_ns=None if one.ended_ns is None else whole(one.ended_ns),
            exit_code=one.exit.code if one.exit else None,
            signal=one.exit.signal if one.exit else None,
            core_dumped=one.exit is not None and one.exit.core,
            end_known=one.exit_known,
            still_running=one.outlived or (goes_on and one.exit is None),
            threads=one.threads,
            n_events=one.events,
            label=descent.labels[one.process],
            title=descent.titles[one.process],
            alike=descent.alike[one.process],
            role=one.role,
        )


def execs(found: list[Process]) -> Iterator[rows.Exec]:
    numbers = count(1)
    for process in found:
        for one in process.execs:
            outcome, error = outcome_of(one.result)
            yield rows.Exec(
                exec=next(numbers),
                process=process.process,
                at_ns=whole(one.at_ns),
                requested=one.requested,
                executable=one.path,
                arguments=one.argv,
                n_arguments=whole(one.argc),
                arguments_cut=one.argv_cut,
                interpreter=one.interpreter.path if one.interpreter else None,
                outcome=outcome,
                error=error,
                privilege_lost=one.privilege_lost,
            )


def accesses(lines: Iterable[Line]) -> Iterator[rows.Access]:
    for line in lines:
        if line.path is None:
            continue
        outcome, error = outcome_of(line.result)
        name = bytes_of(line.path, line.path_b64)
        yield rows.Access(
            process=line.process,
            operation=line.op,
            path=name.decode("utf-8", "backslashreplace"),
            path_bytes=None if line.path_b64 is None else name,
            access=line.access,
            creates=line.create,
            truncates=line.truncate,
            outcome=outcome,
            error=error,
            times=line.count,
            first_ns=whole(line.first_ns),
            last_ns=whole(line.last_ns),
        )


def outcome_of(result: str) -> tuple[rows.Outcome, str | None]:
    """What came of a call, and the name of its error."""
    if result == _DONE:
        return "done", None
    return ("unknown", None) if result == _UNKNOWN else ("failed", result)


def events(layer: KernelLayer) -> Iterator[rows.Event]:
    numbers = count(1)
    with checked(layer.run, layout.KERNEL_TABLE):
        for batch in batches(layer.layers, list(COLUMNS)):
            columns = {name: column(batch, name) for name in COLUMNS}
            for place in range(batch.count):
                yield _event(next(numbers), {name: column[place] for name, column in columns.items()})


def column(batch: RowBatch, name: str) -> Sequence[Any]:
    """One column of a batch, each value as it was recorded."""
    if name == "op":
        return batch.ops()
    if name in DICTIONARIES:
        return batch.texts(name)
    return batch.numbers(name) if name in _NUMBERS else batch.optional(name)


def _event(number: int, row: dict[str, Any]) -> rows.Event:
    outcome, error = outcome_of(result_word(row["result"]))
    return rows.Event(
        event=number,
        at_ns=row["mono_ns"],
        process=row["process"] or None,
        thread=row["tid"],
        operation=row["op"],
        syscall=row["call"] or None,
        requested=shown(row["path"]),
        path=shown(row["resolved"]),
        other=shown(row["extra"]),
        outcome=outcome,
        error=error,
        argument=_signed(row["arg"]),
        argument2=_signed(row["arg2"]),
        notes=[name for name, bit in NOTES.items() if row["notes"] & bit],
        found=None if row["exists"] is None else _found(row),
    )


def _found(row: dict[str, Any]) -> rows.FileState:
    if not row["exists"]:
        return rows.FileState(kind=rows.ABSENT)
    return rows.FileState(
        kind=None if row["mode"] is None else kind_of(row["mode"]),
        mode=row["mode"],
        size=row["size"],
        mtime_ns=row["mtime_ns"],
        uid=row["uid"],
        gid=row["gid"],
        target=shown(row["target"]),
        no_content_reason=row["content"] if isinstance(row["content"], str) else shown(row["content"]),
    )


def shown(name: bytes | None) -> str | None:
    """A name as text; what is not UTF-8 in it is spelled out."""
    return None if name is None else name.decode("utf-8", "backslashreplace")


def _signed(number: int) -> int:
    """The same 64 bits as a number that every engine has: none of them is unsigned."""
    return number - _RANGE if number >= _SIGN else number


def _last_program(process: Process) -> Exec | None:
    return next((one for one in reversed(process.execs) if one.has_started), None)
