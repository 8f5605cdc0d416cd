"""System calls in the words of assay-runner: a line for each row of the table, and the table of such lines.

The schema of the lines allows no key of ours, so the rows themselves are lines of a second file. A line is a
function of its row, of its place and of the process rows before it: a reader makes it again and compares. No
row is left out; what the contract has no kind for is an event from 100 on. A result that is not known is
never called a success. Memory grows with the number of processes only.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, NamedTuple

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.reader import MAX_LINE, lines_of
from steno.contracts.assay import manifest
from steno.evidence import canonical, layout, wire
from steno.evidence.layers import Layers
from steno.judge import surface_names
from steno.judge.kernel_rows import BATCH, COLUMNS, RowBatch, batches, border, category
from steno.judge.operations import access, creates, has_failed, truncates

SCHEMA = "assay.runner.kernel_event.v0"
FIRST_OWN_KIND = 100
OPENAT, CONNECT, EXEC, SENDTO, SENDMSG = (
    (1, "openat"),
    (2, "connect"),
    (4, "exec"),
    (6, "event_6"),
    (7, "event_7"),
)
CARRIED = (
    *("mono_ns", "process", "tid", "op", "call", "path", "resolved", "extra"),
    *("result", "notes", "arg", "arg2", "exists", "mode"),
)
_KINDS = {"open": OPENAT, "connect": CONNECT, "exec": EXEC}
_CODES = {op.name: op.code for op in wire.OPS.values()}
_APPEND, _EXCLUSIVE = 0o2000, 0o200
_NO_ACCESS = 0o3  # both bits: Linux checks for both and gives neither
_PID_BITS = 32
_UNKNOWN_PID = 0  # the schema wants a number
_GROUP_BYTES = 64 << 20  # of lines; the table is shorter

_Int16 = Annotated[int, msgspec.Meta(ge=-(1 << 15), lt=1 << 15)]
_Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]


class BadLineError(ValueError):
    """A line is not one that we write."""


class SeenCall(NamedTuple):
    """One row of the kernel table, without the columns that describe what was found."""

    mono_ns: int
    process: int
    tid: int
    op: str
    call: str | None
    path: bytes | None
    resolved: bytes | None
    extra: bytes | None
    result: int | None
    notes: int
    arg: int
    arg2: int
    exists: bool | None
    mode: int | None


class _Row(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """A call as it stands in the file of rows: fields that are null or 0 are left out."""

    mono_ns: int | str
    process: _Int32
    tid: _Int32
    op: str
    call: str | None = None
    path: str | None = None
    path_b64: str | None = None
    resolved: str | None = None
    resolved_b64: str | None = None
    extra: str | None = None
    extra_b64: str | None = None
    result: _Int16 | None = None
    notes: _Int32 = 0
    arg: int | str = 0
    arg2: int | str = 0
    exists: bool | None = None
    mode: _Int32 | None = None


_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(_Row).decode


def kernel_events(layers: Layers) -> Iterator[bytes]:
    """The lines of `layers/kernel.ndjson`."""
    told = Telling(layers.run_id)
    return map(told.line, _all_calls(layers))


def kernel_rows(layers: Layers) -> Iterator[bytes]:
    """The rows that those lines are made of."""
    return map(row, _all_calls(layers))


def row(call: SeenCall) -> bytes:
    return _encode(_row(call)) + b"\n"


def _all_calls(layers: Layers) -> Iterator[SeenCall]:
    if layers.has(layout.KERNEL_TABLE):
        for batch in batches(layers, CARRIED):
            yield from _calls(batch)


class Telling:
    """The lines of one run, in order: each has a number, and the pid of a process that was told of."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._pids: dict[int, int] = {}
        self.count = 0

    def line(self, call: SeenCall) -> bytes:
        if call.op == "process":
            self._pids[call.process] = call.arg & ((1 << _PID_BITS) - 1)
        event_type, kind = kind_of(call.op, call.call)
        line: dict[str, Any] = {
            "schema": SCHEMA,
            "run_id": self._run_id,
            "seq": self.count,
            "pid": self._pids.get(call.process, _UNKNOWN_PID),
            "event_type": event_type,
            "kind": kind,
            "value": _value(call) or None,
        }
        self.count += 1
        return _encode(line | _opened(call) if event_type == OPENAT[0] else line) + b"\n"


def parse(line: bytes) -> SeenCall:
    """The call of a row. Which line tells it, `Telling` knows."""
    try:
        row = _decode(line)
        if row.op not in _CODES:
            raise BadLineError("an operation that is not known")
        return SeenCall(
            _within(row.mono_ns, -(1 << 63), 1 << 63),
            row.process,
            row.tid,
            row.op,
            row.call,
            _bytes(row.path, row.path_b64),
            _bytes(row.resolved, row.resolved_b64),
            _bytes(row.extra, row.extra_b64),
            row.result,
            row.notes,
            _within(row.arg, 0, 1 << 64),
            _within(row.arg2, 0, 1 << 64),
            row.exists,
            row.mode,
        )
    except (msgspec.MsgspecError, canonical.NotCanonicalError, UnicodeError, RecursionError) as error:
        raise BadLineError(str(error)) from None


def table_of_lines(files: Folder, run_id: str, made: Folder | None) -> int:
    """How many lines an archive has; with a folder, their table is written into it.

    A line that is not exactly the one that its row gives at its place is refused. One group of rows is held.
    """
    telling = Telling(run_id)
    groups = _groups(files, telling)
    if made is None:
        for _ in groups:
            pass
        return telling.count
    with os.fdopen(made.create(layout.KERNEL_TABLE), "wb") as file:
        _write(file, groups)
    return telling.count


@cache
def kind_of(op: str, call: str | None) -> tuple[int, str]:
    """`event_type` and `kind`: those of the contract where it has them, else ours."""
    if op == "send":
        return SENDTO if call is not None and call.endswith("sendto") else SENDMSG
    own = FIRST_OWN_KIND + _CODES[op]
    return _KINDS.get(op) or (own, f"event_{own}")


def _calls(batch: RowBatch) -> Iterator[SeenCall]:
    columns = (
        batch.numbers("mono_ns"),
        batch.numbers("process"),
        batch.numbers("tid"),
        batch.ops(),
        [None if name is None else str(name) for name in batch.texts("call")],
        batch.texts("path"),
        batch.texts("resolved"),
        batch.texts("extra"),
        batch.optional("result"),
        batch.numbers("notes"),
        batch.numbers("arg"),
        batch.numbers("arg2"),
        [None if exists is None else bool(exists) for exists in batch.optional("exists")],
        batch.optional("mode"),
    )
    return map(SeenCall._make, zip(*columns, strict=True))


def _value(call: SeenCall) -> str:
    """What the call names: an address, a resolved path, else the path as it was asked for, else nothing."""
    if category(call.op) == "net":
        return _address(call.path or b"")
    return surface_names.text((call.path if call.resolved is None else call.resolved) or b"")


def _address(address: bytes) -> str:
    """An endpoint as the surface has it; any other address as it was recorded."""
    endpoint = surface_names.endpoint(address, None, "", other_root=False) if address else None
    return endpoint.name if endpoint and endpoint.is_internet else surface_names.text(address)


def _opened(call: SeenCall) -> dict[str, Any]:
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


def _row(call: SeenCall) -> _Row:
    return _Row(
        mono_ns=_portable(call.mono_ns),
        process=call.process,
        tid=call.tid,
        op=call.op,
        call=call.call,
        **_text("path", call.path),
        **_text("resolved", call.resolved),
        **_text("extra", call.extra),
        result=call.result,
        notes=call.notes,
        arg=_portable(call.arg),
        arg2=_portable(call.arg2),
        exists=call.exists,
        mode=call.mode,
    )


def _text(name: str, data: bytes | None) -> dict[str, Any]:
    """Bytes as text, or as base64 where they are not UTF-8."""
    if data is None:
        return {}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_b64": base64.b64encode(data).decode()}


def _bytes(text: str | None, exact: str | None) -> bytes | None:
    if exact is None:
        return None if text is None else text.encode()
    try:
        return base64.b64decode(exact, validate=True)
    except (binascii.Error, ValueError):
        raise BadLineError("what should be base64 is not") from None


def _portable(number: int) -> int | str:
    return number if abs(number) <= canonical.SAFE_INTEGER else str(number)


def _within(number: int | str, least: int, end: int) -> int:
    found = canonical.integer(number)
    if not least <= found < end:
        raise BadLineError("a number that cannot be")
    return found


def _groups(files: Folder, telling: Telling) -> Iterator[list[SeenCall]]:
    calls: list[SeenCall] = []
    size = 0
    lines = lines_of(files, manifest.KERNEL_LINES, MAX_LINE, BadLineError)
    for line in lines_of(files, manifest.KERNEL_ROWS, MAX_LINE, BadLineError):
        call = parse(line)
        if row(call) != line:
            raise BadLineError(f"{manifest.KERNEL_ROWS}: a row is not canonical")
        if telling.line(call) != next(lines, None):
            raise BadLineError(
                f"{manifest.KERNEL_LINES}: line {telling.count} is not what its row gives there"
            )
        calls.append(call)
        size += len(line)
        if len(calls) == BATCH or size > _GROUP_BYTES:
            yield calls
            calls, size = [], 0
    if next(lines, None) is not None:
        raise BadLineError(f"{manifest.KERNEL_LINES}: there are more lines than rows")
    if calls:
        yield calls


def _write(file: Any, groups: Iterator[list[SeenCall]]) -> None:
    import pyarrow as pa  # late: start-up has a budget
    import pyarrow.parquet as pq

    schema = pa.schema({name: pa.type_for_alias(alias) for name, alias in COLUMNS.items()})
    with pq.ParquetWriter(file, schema, compression="none", store_schema=False) as writer:
        for calls in groups:
            with border():
                writer.write_batch(_record_batch(schema, calls))


def _record_batch(schema: Any, calls: list[SeenCall]) -> Any:
    import pyarrow as pa

    carried = dict(zip(SeenCall._fields, zip(*calls, strict=True), strict=True))
    columns = [pa.array(carried.get(field.name, [None] * len(calls)), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
