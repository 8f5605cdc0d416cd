"""Every call that the kernel observer saw, as it was recorded: chosen, in order, and as data.

In: the kernel layer and a choice. Out: one row a call, with names as bytes, as they are read; one batch at
most is held. The typed rows of `Run.events` are made of the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, NamedTuple

from steno.evidence import layout
from steno.evidence.canonical import SAFE_INTEGER
from steno.evidence.syscalls import COLUMNS, RowBatch, batches, category, named_text, result_word
from steno.evidence.wire import NOTES
from steno.judge import surface_names
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
from steno.model.kernel_rows import column
from steno.model.record import Record, checked

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

_NUMBERS = ("dev", "ino", "mode", "size", "mtime_ns", "ctime_ns", "uid", "gid", "nlink")

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
    found: dict[str, Any] = {name: _portable(row[name]) for name in _NUMBERS if row[name] is not None}
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
