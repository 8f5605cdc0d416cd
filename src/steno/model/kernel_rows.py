"""Every call that the kernel saw, as typed rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from steno.evidence import layout
from steno.evidence.syscalls import COLUMNS, DICTIONARIES, RowBatch, batches, result_word
from steno.evidence.wire import NOTES
from steno.judge.files import kind_of
from steno.judge.surface_names import text
from steno.judge.types import ABSENT, Event, FileState, outcome_of
from steno.model.record import Record, checked

_NUMBERS = frozenset({"mono_ns", "process", "tid", "notes", "arg", "arg2"})
_SIGN, _RANGE = 1 << 63, 1 << 64


def events(record: Record) -> Iterator[Event]:
    numbers = count(1)
    with checked(record.run, layout.KERNEL_TABLE):
        for batch in batches(record.layers, list(COLUMNS)):
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


def _event(number: int, row: dict[str, Any]) -> Event:
    outcome, error = outcome_of(result_word(row["result"]))
    return Event(
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


def _found(row: dict[str, Any]) -> FileState:
    if not row["exists"]:
        return FileState(kind=ABSENT)
    return FileState(
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
    return None if name is None else text(name)


def _signed(number: int) -> int:
    """The same 64 bits as a number that every engine has: none of them is unsigned."""
    return number - _RANGE if number >= _SIGN else number
