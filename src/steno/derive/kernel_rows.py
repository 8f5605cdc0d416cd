"""The rows of `layers/kernel.parquet`, read in batches as columns of plain Python values.

In: layers, whose table may be hostile. Out: batches of at most `BATCH` rows. Whatever is wrong with the
bytes is raised as `BadTableError`, here and nowhere else: the library that reads them has many ways to say
no. Memory is bounded by one batch: a table that claims more rows or larger row groups than its bytes can
mean is refused.
"""

from __future__ import annotations

import base64
import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

from steno.events import layout, wire
from steno.events.layers import Layers

BATCH = 1 << 16
MAX_GROUP_ROWS = 1 << 18
MAX_GROUP_BYTES = 1 << 28
MAX_FOOTER = 64 << 20
MOST_ROWS_A_BYTE = 256
_FOOTER_END = 8
COLUMNS = {
    "mono_ns": "int64",
    "process": "int32",
    "tid": "int32",
    "op": "string",
    "call": "string",
    "path": "binary",
    "resolved": "binary",
    "extra": "binary",
    "result": "int16",
    "notes": "int32",
    "arg": "uint64",
    "arg2": "uint64",
    "exists": "bool",
    "dev": "uint64",
    "ino": "uint64",
    "mode": "int32",
    "size": "int64",
    "mtime_ns": "int64",
    "ctime_ns": "int64",
    "uid": "int64",
    "gid": "int64",
    "nlink": "int64",
    "target": "binary",
    "content": "string",
}
DICTIONARIES = tuple(name for name, kind in COLUMNS.items() if kind in {"string", "binary"})
_LETTERS = {"int16": "h", "int32": "i", "int64": "q", "uint64": "Q"}
_BITS = [bytes(byte >> bit & 1 for bit in range(8)) for byte in range(256)]
_CATEGORIES = {op.name: op.category for op in wire.OPS.values()}


class BadTableError(ValueError):
    """A table of the kernel layer is not one that we write."""


@contextmanager
def _border() -> Iterator[None]:
    import pyarrow as pa  # late: start-up has a budget

    try:
        yield
    except BadTableError:
        raise
    except (
        pa.ArrowException,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadTableError(f"{layout.KERNEL_TABLE}: cannot be read: {said}") from error


class RowBatch:
    """Some rows. Columns are read when they are asked for."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.count: int = batch.num_rows

    @_border()
    def numbers(self, name: str) -> list[int]:
        """A column that has a number in every row."""
        column = self._batch.column(name)
        if column.null_count:
            raise BadTableError(f"{layout.KERNEL_TABLE}: a row without {name}")
        return _values(column, _LETTERS[COLUMNS[name]])

    @_border()
    def optional(self, name: str) -> list[int | None]:
        column = self._batch.column(name)
        letter = "?" if COLUMNS[name] == "bool" else _LETTERS[COLUMNS[name]]
        return _with_nulls(column, _values(column, letter))

    @_border()
    def texts(self, name: str) -> list[bytes | None]:
        """A column of paths, arguments or targets; equal ones in a batch are one object."""
        column = self._batch.column(name)
        texts, indices = column.dictionary.to_pylist(), _values(column.indices, "i")
        if not column.null_count:
            return list(map(texts.__getitem__, indices))
        valid = _bits(column.indices.buffers()[0], column.indices.offset, len(indices))
        return [texts[index] if known else None for index, known in zip(indices, valid, strict=True)]

    @_border()
    def ops(self) -> list[str]:
        names = self._batch.column("op").dictionary.to_pylist()
        indices = self._batch.column("op").indices
        if indices.null_count or not _CATEGORIES.keys() >= set(names):
            raise BadTableError(f"{layout.KERNEL_TABLE}: a row with an operation that is not known")
        return list(map(names.__getitem__, _values(indices, "i")))


def batches(layers: Layers, columns: Sequence[str]) -> Iterator[RowBatch]:
    """All rows in order, with these columns."""
    with _border(), layers.open(layout.KERNEL_TABLE) as file:
        table = _opened(file, layers.size(layout.KERNEL_TABLE))
        for batch in table.iter_batches(BATCH, columns=list(columns), use_threads=False):
            yield RowBatch(batch)


def count_rows(layers: Layers) -> int:
    """How many rows the table has, after every column of every one of them was read."""
    return sum(batch.count for batch in batches(layers, list(COLUMNS)))


def category(op: str) -> str:
    return _CATEGORIES[op]


@cache
def result_word(result: int | None) -> str:
    if result is None:
        return "unknown"
    return "ok" if result == 0 else errno.errorcode.get(-result, str(result))


def named_text(name: str, data: bytes, *, readable: bool = False) -> dict[str, str]:
    """Bytes as text, and beside it as base64 where they are not UTF-8."""
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        text = data.decode("utf-8", "backslashreplace") if readable else data.decode("latin-1")
        return {name: text, f"{name}_b64": base64.b64encode(data).decode()}


def _opened(file: BinaryIO, size: int) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file.seek(max(0, size - _FOOTER_END))
    if int.from_bytes(file.read(4), "little") > min(size, MAX_FOOTER):
        raise BadTableError(f"{layout.KERNEL_TABLE}: its footer is longer than it can be")
    table = pq.ParquetFile(
        file,
        read_dictionary=list(DICTIONARIES),
        thrift_string_size_limit=MAX_FOOTER,
        thrift_container_size_limit=MAX_FOOTER // 64,
    )
    expected = [
        (name, pa.dictionary(pa.int32(), kind) if name in DICTIONARIES else kind)
        for name, kind in ((name, pa.type_for_alias(alias)) for name, alias in COLUMNS.items())
    ]
    if [(field.name, field.type) for field in table.schema_arrow] != expected:
        raise BadTableError(f"{layout.KERNEL_TABLE}: has other columns than ours")
    _check_claims(table.metadata, size)
    return table


def _check_claims(metadata: Any, size: int) -> None:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    if any(not 0 <= group.num_rows <= MAX_GROUP_ROWS for group in groups):
        raise BadTableError(f"{layout.KERNEL_TABLE}: a row group of more than {MAX_GROUP_ROWS} rows")
    if any(not 0 <= group.total_byte_size <= MAX_GROUP_BYTES for group in groups):
        raise BadTableError(f"{layout.KERNEL_TABLE}: a row group of more than {MAX_GROUP_BYTES} bytes")
    if sum(group.num_rows for group in groups) > size * MOST_ROWS_A_BYTE:
        raise BadTableError(f"{layout.KERNEL_TABLE}: claims more rows than its bytes can mean")


def _values(column: Any, letter: Any) -> list[int]:
    """The numbers of a column, also under its nulls."""
    count, start, data = len(column), column.offset, column.buffers()[1]
    if data is None or not count:
        return [0] * count
    if letter == "?":
        return list(_bits(data, start, count))
    width = column.type.bit_width // 8
    return memoryview(data)[start * width : (start + count) * width].cast("B").cast(letter).tolist()


def _with_nulls(column: Any, values: list[int]) -> list[int | None]:
    if not column.null_count:
        return list(values)
    valid = _bits(column.buffers()[0], column.offset, len(column))
    return [value if known else None for value, known in zip(values, valid, strict=True)]


def _bits(data: Any, start: int, count: int) -> bytes:
    """One byte, 0 or 1, for each bit."""
    packed = bytes(memoryview(data)[start // 8 : (start + count + 7) // 8])
    return b"".join(map(_BITS.__getitem__, packed))[start % 8 : start % 8 + count]
