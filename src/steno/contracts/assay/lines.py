"""System calls in the words of assay-runner: a line for each row of the table of system calls.

A line is a function of its row, of its place and of the process rows before it: a reader makes it again and
compares. No row is left out; what the contract has no kind for is an event from 100 on. A result that is not
known is never called a success. Memory grows with the number of processes only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from steno.evidence import canonical, wire
from steno.model.events import (
    RowBatch,
    access,
    category,
    column,
    creates,
    has_failed,
    internet_endpoint,
    shown,
    truncates,
)

SCHEMA = "assay.runner.kernel_event.v0"
FIRST_OWN_KIND = 100
OPENAT, CONNECT, EXEC, SENDTO, SENDMSG = (
    (1, "openat"),
    (2, "connect"),
    (4, "exec"),
    (6, "event_6"),
    (7, "event_7"),
)
_OWN = {op.name: FIRST_OWN_KIND + op.code for op in wire.OPS.values()}
_KINDS = {
    **{op: (number, f"event_{number}") for op, number in _OWN.items()},
    "open": OPENAT,
    "connect": CONNECT,
    "exec": EXEC,
}
_NEWER = (FIRST_OWN_KIND, f"event_{FIRST_OWN_KIND}")  # an operation that only a newer Steno knows
_APPEND, _EXCLUSIVE = 0o2000, 0o200
_NO_ACCESS = 0o3  # both bits: Linux checks for both and gives neither
_PID_BITS = 32
_UNKNOWN_PID = 0  # the schema wants a number


class SystemCall(NamedTuple):
    """What a line tells of a row."""

    process: int
    op: str
    call: str | None
    path: bytes | None
    resolved: bytes | None
    result: int | None
    arg: int
    arg2: int


COLUMNS = SystemCall._fields
_encode = msgspec.json.Encoder(order="sorted").encode


def kernel_lines(run_id: str, batches: Iterable[RowBatch]) -> Iterator[bytes]:
    """The lines of `layers/kernel.ndjson`; of all rows in order, with these `COLUMNS`."""
    lines = _Lines(run_id)
    for batch in batches:
        yield from map(lines.line, _calls(batch))


class _Lines:
    """The lines of one run, in order: each has a number, and the pid of a process that was told of."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._pids: dict[int, int] = {}
        self._count = 0

    def line(self, call: SystemCall) -> bytes:
        if call.op == "process":
            self._pids[call.process] = call.arg & ((1 << _PID_BITS) - 1)
        event_type, kind = kind_of(call.op, call.call)
        line: dict[str, Any] = {
            "schema": SCHEMA,
            "run_id": self._run_id,
            "seq": self._count,
            "pid": self._pids.get(call.process, _UNKNOWN_PID),
            "event_type": event_type,
            "kind": kind,
            "value": _value(call) or None,
        }
        self._count += 1
        return _encode(line | _opened(call) if event_type == OPENAT[0] else line) + b"\n"


def kind_of(op: str, call: str | None) -> tuple[int, str]:
    """`event_type` and `kind`: those of the contract where it has them, else ours."""
    if op == "send":
        return SENDTO if call is not None and call.endswith("sendto") else SENDMSG
    return _KINDS.get(op, _NEWER)


def _calls(batch: RowBatch) -> Iterator[SystemCall]:
    return map(SystemCall._make, zip(*(column(batch, name) for name in COLUMNS), strict=True))


def _value(call: SystemCall) -> str:
    """What the call names: an address, a resolved path, else the path as it was asked for, else nothing."""
    if category(call.op) == "net":
        return _address(call.path or b"")
    return shown(call.path if call.resolved is None else call.resolved) or ""


def _address(address: bytes) -> str:
    """An endpoint as the surface has it; any other address as it was recorded."""
    return internet_endpoint(address) or shown(address) or ""


def _opened(call: SystemCall) -> dict[str, Any]:
    """What the contract has of an open. What is not known, or not 1 or more where it must be, is left out."""
    flags = call.arg
    numbers = {"flags": flags, "mode": call.arg2}
    found: dict[str, Any] = {name: one for name, one in numbers.items() if one <= canonical.SAFE_INTEGER}
    if call.result is not None and call.result != wire.RESULT_FAILED:  # it failed, nobody knows with what
        # Of a call that did not fail 0 is recorded, not the number of the descriptor.
        found |= {"return_value": call.result, "status": "error" if has_failed(call.result) else "success"}
    return found | {
        "access_mode": "unknown" if flags & _NO_ACCESS == _NO_ACCESS else access(flags),
        "operation_flags": _operation_flags(flags),
    }


def _operation_flags(flags: int) -> tuple[str, ...]:
    found = {
        "create": creates(flags),
        "truncate": truncates(flags),
        "append": bool(flags & _APPEND),
        "exclusive": bool(flags & _EXCLUSIVE),
    }
    return tuple(word for word, given in found.items() if given)
