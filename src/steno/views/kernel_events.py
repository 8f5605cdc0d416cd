"""Every event that the kernel observer saw, in order: for when the summaries are not enough.

In: the kernel layer and a choice. Out: one line or one JSON object an event, as they are read; one batch at
most is held. What a line has no room for, the JSON has. Never shows a name that was not made visible.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, NamedTuple

from steno.evidence import layout
from steno.evidence.canonical import SAFE_INTEGER
from steno.evidence.linux_numbers import signal_name
from steno.evidence.wire import NOTES, OPS
from steno.judge.effects import has_failed_to_reach
from steno.judge.kernel_rows import (
    COLUMNS,
    DICTIONARIES,
    RowBatch,
    batches,
    category,
    named_text,
    result_word,
)
from steno.judge.operations import access
from steno.model.kernel_layer import NO_ERROR, KernelLayer, checked
from steno.views.paint import Paint
from steno.views.plain import cut, pad, visible

_NUMBERS = ("dev", "ino", "mode", "size", "mtime_ns", "ctime_ns", "uid", "gid", "nlink")
_OP_WIDTH = max(len(op.name) for op in OPS.values())
_OPEN_FLAGS = {0o100: "create", 0o1000: "truncate", 0o2000: "append", 0o200: "exclusive"}  # of Linux
_ARGUMENTS_SHOWN = 50
_SIGNAL_BITS = 0x7F
_ALWAYS = {"mono_ns", "process", "tid", "notes", "arg", "arg2"}

Row = dict[str, Any]


class Wanted(NamedTuple):
    op: str | None = None
    process: int | None = None
    path: bytes | None = None  # a pattern, for the requested or the resolved path
    category: str | None = None
    limit: int | None = None


def events(layer: KernelLayer, wanted: Wanted) -> Iterator[Row]:
    return islice(_events(layer, wanted), wanted.limit)


def to_json(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mono_ns": _portable(row["mono_ns"]),
        "process": row["process"],
        "tid": row["tid"],
        "op": row["op"],
        "category": category(row["op"]),
        "call": row["call"],
        "result": result_word(row["result"]),
        "notes": _notes(row["notes"]),
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


def line(row: Row, paint: Paint, *, width: int | None) -> str:
    seconds = f"{row['mono_ns'] / 1e9:.6f}"
    head = f"{seconds:>12} {row['process']:>5}  "
    op = pad(row["op"], _OP_WIDTH)
    result = result_word(row["result"])
    failed = has_failed_to_reach(row["op"], row["result"])
    detail = _DETAILS.get(row["op"])
    words = [
        _shown(row["resolved"] or row["path"]),
        detail(row) if detail else "",
        "" if result in NO_ERROR else result,
    ]
    words += [f"[{note}]" for note in _notes(row["notes"])]
    rest = " ".join(word for word in words if word)
    room = None if width is None else width - len(head) - _OP_WIDTH - 1
    rest = visible(rest) if room is None else cut(visible(rest), max(room, 1))
    return f"{paint('faint', head)}{op} {paint('bad', rest) if failed else rest}"


def _events(layer: KernelLayer, wanted: Wanted) -> Iterator[Row]:
    with checked(layer.run, layout.KERNEL_TABLE):
        for batch in batches(layer.layers, list(COLUMNS)):
            chosen = _chosen(batch, wanted)
            if chosen:
                columns = [_column(batch, name) for name in COLUMNS]
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


def _column(batch: RowBatch, name: str) -> Sequence[Any]:
    if name == "op":
        return batch.ops()
    if name in DICTIONARIES:
        return batch.texts(name)
    return batch.numbers(name) if name in _ALWAYS else batch.optional(name)


def _notes(notes: int) -> list[str]:
    return [name for name, bit in NOTES.items() if notes & bit]


def _portable(number: int) -> int | str:
    return number if -SAFE_INTEGER <= number <= SAFE_INTEGER else str(number)


def _shown(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "backslashreplace")


def _opened(row: Row) -> str:
    flags = row["arg"]
    return ", ".join([access(flags), *(word for bit, word in _OPEN_FLAGS.items() if flags & bit)])


def _arguments(row: Row) -> str:
    words = (row["extra"] or b"").removesuffix(b"\0").split(b"\0")
    more = f" … {row['arg']} in all" if len(words) > _ARGUMENTS_SHOWN else ""
    return shlex.join(map(_shown, words[:_ARGUMENTS_SHOWN])) + more


def _ended(row: Row) -> str:
    status = row["arg"] & 0xFFFF
    number = status & _SIGNAL_BITS
    return f"by {signal_name(number)}" if number else f"code {status >> 8}"


_WHOSE = ("of the run", "outside the run", "of the recorder", "not known whose")  # arg of `reach`
# how the line of an operation goes on after its path
_DETAILS: dict[str, Callable[[Row], str]] = {
    "process": lambda row: f"pid {row['arg'] & 0xFFFFFFFF}, started by {row['arg'] >> 32}",
    "fork": lambda row: f"process {row['arg2']}" if row["arg2"] else "",
    "exec": _arguments,
    "interpreter": lambda row: _shown(row["extra"]),
    "exit": _ended,
    "outlived": lambda row: f"pid {row['arg']}",
    "signal": lambda row: f"{signal_name(row['arg'])} to pid {row['arg2']}",
    "reach": lambda row: f"pid {row['arg2']}, {_WHOSE[row['arg'] & 3]}",
    "open": _opened,
    "open_handle": _opened,
    "follow": lambda row: f"-> {_shown(row['target'])}" if row["target"] else "",
    "mkdir": lambda row: f"mode {row['arg']:o}",
    "chmod": lambda row: f"mode {row['arg']:o}",
    "chown": lambda row: f"uid {row['arg']}, gid {row['arg2']}",
    "truncate": lambda row: f"to {row['arg']} bytes",
    "rename": lambda row: f"-> {_shown(row['extra'])}",
    "rename_to": lambda row: f"<- {_shown(row['extra'])}",
    "link": lambda row: f"-> {_shown(row['extra'])}",
    "link_to": lambda row: f"<- {_shown(row['extra'])}",
    "symlink": lambda row: f"-> {_shown(row['extra'])}",
    "mount": lambda row: f"from {_shown(row['extra'])}",
    "setxattr": lambda row: _shown(row["extra"]),
    "getxattr": lambda row: _shown(row["extra"]),
    "removexattr": lambda row: _shown(row["extra"]),
    "socket": lambda row: f"family {row['arg']}, type {row['arg2']}",
    "listen": lambda row: f"descriptor {row['arg']}",
    "accept": lambda row: f"descriptor {row['arg']}",
}
