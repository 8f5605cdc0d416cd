"""Every call that the kernel saw, as it was recorded: as typed rows, or chosen and as data.

They are read as they are asked for: one batch at most is held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import count, islice
from typing import Any, NamedTuple

from steno.evidence import layout
from steno.evidence.canonical import SAFE_INTEGER
from steno.evidence.syscalls import (
    COLUMNS,
    DICTIONARIES,
    RowBatch,
    batches,
    category,
    named_text,
    result_word,
)
from steno.evidence.wire import NOTES
from steno.judge import surface_names
from steno.judge.files import kind_of
from steno.judge.operations import (
    MEANING_OF_OPEN,
    OPENING,
    access,
    creates,
    has_failed,
    has_failed_to_reach,
    truncates,
)
from steno.judge.scan import Reading
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


__all__ = [
    "MEANING_OF_OPEN",
    "OPENING",
    "Row",
    "RowBatch",
    "Wanted",
    "access",
    "category",
    "chosen",
    "creates",
    "has_failed",
    "has_failed_to_reach",
    "internet_endpoint",
    "notes_of",
    "result_word",
    "to_json",
    "truncates",
]

_OF_STATE = ("dev", "ino", "mode", "size", "mtime_ns", "ctime_ns", "uid", "gid", "nlink")

Row = dict[str, Any]


class Wanted(NamedTuple):
    op: str | None = None
    process: int | None = None
    path: bytes | None = None  # a pattern, for the requested or the resolved path
    category: str | None = None
    limit: int | None = None
    hooks: bool = False  # also those of Steno's own hooks


def chosen(record: Record, wanted: Wanted) -> Iterator[Row]:
    return islice(_events(record, wanted), wanted.limit)


def to_json(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mono_ns": _portable(row["mono_ns"]),
        "process": row["process"],
        "tid": row["tid"],
        "op": row["op"],
        "category": category(row["op"]),
        "call": row["call"],
        "result": result_word(row["result"]),
        "notes": notes_of(row["notes"]),
        "arg": _portable(row["arg"]),
        "arg2": _portable(row["arg2"]),
    }
    for name in ("path", "resolved", "extra"):
        if row[name] is not None:
            found |= named_text(name, row[name], readable=True)
    if row["exists"] is not None:
        found["state"] = _state(row)
    return found


def _state(row: Row) -> dict[str, Any]:
    if not row["exists"]:
        return {"exists": False}
    found: dict[str, Any] = {name: _portable(row[name]) for name in _OF_STATE if row[name] is not None}
    if row["content"] is not None:
        found["content"] = row["content"]
    target = {} if row["target"] is None else named_text("target", row["target"], readable=True)
    return {"exists": True, **found, **target}


def _events(record: Record, wanted: Wanted) -> Iterator[Row]:
    with checked(record.run, layout.KERNEL_TABLE):
        hooks = wanted.hooks or wanted.process is not None
        left_out = frozenset() if hooks else Reading.of(record.layers).own.processes
        for batch in batches(record.layers, list(COLUMNS)):
            chosen = _chosen(batch, wanted)
            if left_out:
                numbers = batch.numbers("process")
                chosen = [row for row in chosen if numbers[row] not in left_out]
            if chosen:
                columns = [column(batch, name) for name in COLUMNS]
                for place in chosen:
                    yield {name: column[place] for name, column in zip(COLUMNS, columns, strict=True)}


def _chosen(batch: RowBatch, wanted: Wanted) -> Sequence[int]:
    """Which rows of a batch meet the choice; the columns that nobody asks about are not read."""
    rows: Sequence[int] = range(batch.count)
    if wanted.process is not None:
        numbers = batch.numbers("process")
        rows = [row for row in rows if numbers[row] == wanted.process]
    if wanted.op is not None or wanted.category is not None:
        ops = batch.ops()
        kinds = {op for op in set(ops) if wanted.op in {None, op} and wanted.category in {None, category(op)}}
        rows = [row for row in rows if ops[row] in kinds]
    if wanted.path is not None:
        paths, resolved, alike = batch.texts("path"), batch.texts("resolved"), _Alike(wanted.path)
        rows = [row for row in rows if alike[paths[row]] or alike[resolved[row]]]
    return rows


class _Alike(dict[bytes | None, bool]):
    """Whether a path is like the pattern; each one is looked at once."""

    def __init__(self, pattern: bytes) -> None:
        super().__init__()
        self._pattern = pattern

    def __missing__(self, path: bytes | None) -> bool:
        self[path] = found = path is not None and fnmatchcase(path, self._pattern)
        return found


def internet_endpoint(address: bytes) -> str | None:
    """An address and its port as a surface names them; None for what is no address of the internet."""
    found = surface_names.endpoint(address, None, "", other_root=False) if address else None
    return found.name if found and found.is_internet else None


def notes_of(notes: int) -> list[str]:
    return [name for name, bit in NOTES.items() if notes & bit]


def _portable(number: int) -> int | str:
    return number if -SAFE_INTEGER <= number <= SAFE_INTEGER else str(number)
