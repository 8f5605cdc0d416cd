"""The rows of `syscalls.parquet`, which may be hostile, read in batches as columns of plain Python values.

Whatever is wrong with the bytes is raised as `BadTableError`, here and nowhere else: the library that reads
them has many ways to say no. Memory is bounded by one batch: a table that claims more rows or larger row
groups than its bytes can mean is refused.
"""

from __future__ import annotations

import base64
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO, NamedTuple

from steno.evidence import layout, wire
from steno.evidence.layers import Layers
from steno.evidence.linux_abi import ERRORS
from steno.evidence.linux_numbers import file_time

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
# Recorded since: a table without them tells less, and is one of ours.
ADDED = {"file": "int64", "blob": "string"}
EVERY = (*COLUMNS, *ADDED)
_KINDS = COLUMNS | ADDED
DICTIONARIES = tuple(name for name, kind in COLUMNS.items() if kind in {"string", "binary"})
_LETTERS = {"int16": "h", "int32": "i", "int64": "q", "uint64": "Q"}
_BITS = [bytes(byte >> bit & 1 for bit in range(8)) for byte in range(256)]
_CATEGORIES = {op.name: op.category for op in wire.OPS.values()}
_TIME = "mono_ns"
_FILE_TIMES = frozenset({"mtime_ns", "ctime_ns"})
LABEL = "label"  # a column that whoever reads the rows gives them
_INDEX_BYTES = 4
_FEW = 4
_RELEASED = 4
_MOST_OPS = 256  # places in the dictionary that the low byte of an index tells apart
Rows = Sequence[int] | None  # None: all of them


class BadTableError(ValueError):
    """A table of the kernel layer is not one that we write."""


@contextmanager
def border() -> Iterator[None]:
    """Whatever goes wrong in here is a `BadTableError`."""
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
    """Some rows. Columns are read when they are asked for, whole or at some rows."""

    def __init__(self, batch: Any, rows_in_all: int = 0) -> None:
        self._batch = batch
        self._read: dict[str, list[Any]] = {}
        self._labels: list[int] = []
        self.kept: dict[object, Any] = {}  # what was made of it, for whoever asks for the same
        self.count: int = batch.num_rows
        self.rows_in_all = rows_in_all  # of the table that this is a part of

    def without(self, processes: Collection[int]) -> RowBatch:
        """The rows of all other processes."""
        import pyarrow as pa

        kept = [process not in processes for process in self.numbers("process")]
        if all(kept):
            return self
        with border():
            return RowBatch(self._batch.filter(pa.array(kept, pa.bool_())), self.rows_in_all)

    def label(self, labels: list[int]) -> None:
        """A number for every row: the column `LABEL`."""
        self._labels = labels

    @border()
    def numbers(self, name: str, rows: Rows = None) -> list[int]:
        """A column that has a number in every row."""
        if name == LABEL:
            return self._labels if rows is None else [self._labels[row] for row in rows]
        return plain_numbers(self._complete(name), _LETTERS[COLUMNS[name]], rows)

    @border()
    def optional(self, name: str, rows: Rows = None) -> list[int | None]:
        if not self._has(name):
            return [None] * (self.count if rows is None else len(rows))
        column = self._batch.column(name)
        letter = "?" if _KINDS[name] == "bool" else _LETTERS[_KINDS[name]]
        numbers = plain_numbers(column, letter, rows)
        if name in _FILE_TIMES:
            numbers = list(map(file_time, numbers))
        return _with_nulls(column, numbers, rows)

    def modes(self, rows: Rows = None) -> list[int]:
        """The bits of what was found, 0 where nothing was. The bits of a mode are never negative."""
        modes = [mode or 0 for mode in self.optional("mode", rows)]
        if min(modes, default=0) < 0:
            raise BadTableError(f"{layout.KERNEL_TABLE}: a mode that cannot be")
        return modes

    @border()
    def texts(self, name: str, rows: Rows = None) -> list[bytes | None]:
        """A column of paths, arguments or targets; equal ones in a batch are one object."""
        words, indices = self._dictionary(name), self._batch.column(name).indices
        places = plain_numbers(indices, "i", rows)
        if not indices.null_count:
            return list(map(words.__getitem__, places))
        return [None if place is None else words[place] for place in _with_nulls(indices, places, rows)]

    @border()
    def words(self, name: str) -> Iterator[bytes]:
        """All different texts of a column, and perhaps some that are in no row."""
        return filter(None, self._dictionary(name))

    @border()
    def blobs(self, rows: Sequence[int]) -> list[str | None]:
        """The keys of the contents that were kept of what was found."""
        if not rows or not self.tells_contents:
            return [None] * len(rows)
        column = self._batch.column("blob")
        if column.null_count == len(column):
            return [None] * len(rows)
        return [column[row].as_py() for row in rows]

    @property
    def tells_contents(self) -> bool:
        """Whether the table was made since rows tell the contents that were kept."""
        return all(map(self._has, ADDED))

    @border()
    def rows_with(self, name: str) -> list[int]:
        """The rows that have something in this column, without a look at the others."""
        if not self._has(name):
            return []
        column = self._batch.column(name)
        if column.null_count == len(column):
            return []
        valid = (
            _bits(column.buffers()[0], column.offset, len(column))
            if column.null_count
            else b"\1" * len(column)
        )
        return list(_places_of_one(valid))

    @border()
    def ops(self, rows: Rows = None) -> list[str]:
        names = self._op_names()
        return list(map(names.__getitem__, plain_numbers(self._batch.column("op").indices, "i", rows)))

    @border()
    def rows_of(self, ops: Collection[str]) -> list[int]:
        """The rows of these operations, without a look at the others."""
        wanted = bytes(name in ops for name in self._op_names())
        if 1 not in wanted or not self.count:
            return []
        indices = self._batch.column("op").indices
        low_bytes = bytes(memoryview(indices.buffers()[1]))[indices.offset * _INDEX_BYTES :: _INDEX_BYTES]
        return list(_places_of_one(low_bytes[: self.count].translate(wanted.ljust(256, b"\0"))))

    @border()
    def rows_naming(self, name: str, is_wanted: Callable[[str], bool]) -> list[int]:
        """The rows that have such a word in a column, without a look at the others if none has."""
        wanted = [word is not None and is_wanted(word) for word in self._dictionary(name)]
        if True not in wanted:
            return []
        codes = self.codes(name)
        return [row for row, code in enumerate(codes) if code is not None and wanted[code]]

    @border()
    def codes(self, name: str) -> list[int | None]:
        """A column as numbers: equal ones stand for equal values."""
        if name == LABEL:
            return list(self._labels)
        column = self.code_column(name)
        letter = "i" if name in DICTIONARIES else "?" if COLUMNS[name] == "bool" else _LETTERS[COLUMNS[name]]
        return _with_nulls(column, plain_numbers(column, letter))

    def code_column(self, name: str) -> Any:
        """The same as the library holds it."""
        if name == LABEL:
            import pyarrow as pa

            return pa.array(self._labels, pa.int32())
        if name == _TIME:
            return self._complete(name)
        column = self._batch.column(name)
        return column.indices if name in DICTIONARIES else column

    def _has(self, name: str) -> bool:
        return name in COLUMNS or name in self._batch.schema.names

    def _complete(self, name: str) -> Any:
        column = self._batch.column(name)
        if column.null_count:
            raise BadTableError(f"{layout.KERNEL_TABLE}: a row without {name}")
        return column

    def _dictionary(self, name: str) -> list[Any]:
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = self._batch.column(name).dictionary.to_pylist()
        return found

    def _op_names(self) -> list[str]:
        names = self._dictionary("op")
        if self._batch.column("op").indices.null_count or None in names:
            raise BadTableError(f"{layout.KERNEL_TABLE}: a row without an operation")
        if len(names) > _MOST_OPS:
            raise BadTableError(f"{layout.KERNEL_TABLE}: its operations have too many names")
        return names


def batches(layers: Layers, columns: Sequence[str]) -> Iterator[RowBatch]:
    """All rows in order, with these columns."""
    import pyarrow as pa

    with border(), layers.open(layout.KERNEL_TABLE) as file:
        table = _opened(file, layers.size(layout.KERNEL_TABLE))
        wanted = [name for name in columns if name in COLUMNS or name in table.schema_arrow.names]
        read = table.iter_batches(BATCH, columns=wanted, use_threads=False)
        for number, batch in enumerate(read, 1):
            yield RowBatch(batch, table.metadata.num_rows)
            if number % _RELEASED == 0:  # its pool grows with every batch, although nothing in it is used
                pa.default_memory_pool().release_unused()


def category(op: str) -> str:
    return _CATEGORIES.get(op, "other")


@cache
def result_word(result: int | None) -> str:
    if result is None:
        return "unknown"
    if result == wire.RESULT_FAILED:
        return "failed"
    return "ok" if result == 0 else ERRORS.get(-result, str(result))


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
    present = [(field.name, field.type) for field in table.schema_arrow]
    for name, alias in COLUMNS.items():  # a newer Steno may have more
        kind = pa.type_for_alias(alias)
        expected = pa.dictionary(pa.int32(), kind) if name in DICTIONARIES else kind
        if [found for called, found in present if called == name] != [expected]:
            raise BadTableError(f"{layout.KERNEL_TABLE}: its column {name} is not there once, as {alias}")
    for name, alias in ADDED.items():
        if [found for called, found in present if called == name] not in ([], [pa.type_for_alias(alias)]):
            raise BadTableError(f"{layout.KERNEL_TABLE}: its column {name} is there, and not as {alias}")
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


def plain_numbers(column: Any, letter: Any, rows: Rows = None) -> list[int]:
    """The numbers of a column, also under its nulls."""
    count, start, data = len(column), column.offset, column.buffers()[1]
    if data is None or not count:
        return [0] * (count if rows is None else len(rows))
    if letter == "?":
        bits = _bits(data, start, count)
        return list(bits) if rows is None else [bits[row] for row in rows]
    width = column.type.bit_width // 8
    numbers = memoryview(data)[start * width : (start + count) * width].cast("B").cast(letter)
    if rows is None:
        return numbers.tolist()
    if len(rows) * _FEW > count:  # to read them all is quicker than to read many one by one
        return list(map(numbers.tolist().__getitem__, rows))
    return [numbers[row] for row in rows]


def _with_nulls(column: Any, values: list[int], rows: Rows = None) -> list[int | None]:
    if not column.null_count:
        return list(values)
    valid: Sequence[int] = _bits(column.buffers()[0], column.offset, len(column))
    if rows is not None:
        valid = [valid[row] for row in rows]
    return [value if known else None for value, known in zip(values, valid, strict=True)]


def _places_of_one(flags: bytes) -> Iterator[int]:
    at = flags.find(1)
    while at >= 0:
        yield at
        at = flags.find(1, at + 1)


def _bits(data: Any, start: int, count: int) -> bytes:
    """One byte, 0 or 1, for each bit."""
    packed = bytes(memoryview(data)[start // 8 : (start + count + 7) // 8])
    return b"".join(map(_BITS.__getitem__, packed))[start % 8 : start % 8 + count]


# Below that the library's grouping takes longer to load than to replace.
LARGE = 1 << 17
_TIME, _ROW = "mono_ns", "row"


class Distinct(NamedTuple):
    """Columns of equal length, in the order of the rows."""

    rows: list[int]  # the first of each
    times: list[int]  # how often it is there
    first_ns: list[int]
    last_ns: list[int]


def distinct_rows(batch: RowBatch, columns: Sequence[str]) -> Distinct:
    key = distinct_rows, *columns
    if key not in batch.kept:
        make = by_arrow if batch.rows_in_all >= LARGE else by_dicts
        batch.kept[key] = make(batch, columns)
    found: Distinct = batch.kept[key]
    return found


def by_dicts(batch: RowBatch, columns: Sequence[str]) -> Distinct:
    places: defaultdict[tuple[int | None, ...], int] = defaultdict()
    places.default_factory = places.__len__
    # Numbers from here on: a tuple is hashed anew whenever it is looked up.
    rows = [places[row] for row in zip(*(batch.codes(name) for name in columns), strict=True)]
    times = batch.numbers(_TIME)
    counts = Counter(rows)
    first_rows = dict(zip(reversed(rows), range(batch.count - 1, -1, -1), strict=True))
    if times != sorted(times):  # threads overtake each other
        order = sorted(range(len(times)), key=times.__getitem__)
        rows, times = [rows[row] for row in order], [times[row] for row in order]
    first_ns = dict(zip(reversed(rows), reversed(times), strict=True))
    last_ns = dict(zip(rows, times, strict=True))
    found = ([figures[row] for row in counts] for figures in (first_rows, counts, first_ns, last_ns))
    return Distinct(*found)


@border()
def by_arrow(batch: RowBatch, columns: Sequence[str]) -> Distinct:
    import pyarrow as pa  # late: start-up has a budget

    keys = [f"key {name}" for name in columns]
    table = pa.table(
        {
            **{key: batch.code_column(name) for key, name in zip(keys, columns, strict=True)},
            _TIME: batch.code_column(_TIME),
            _ROW: _row_numbers(max(BATCH, batch.count)).slice(0, batch.count),
        }
    )
    wanted = [(_ROW, "min"), (_ROW, "count"), (_TIME, "min"), (_TIME, "max")]
    found = table.group_by(keys, use_threads=False).aggregate(wanted)
    found = found.sort_by(f"{_ROW}_min")
    figures = (plain_numbers(found.column(f"{name}_{what}").combine_chunks(), "q") for name, what in wanted)
    return Distinct(*figures)


@cache
def _row_numbers(count: int) -> Any:
    import pyarrow as pa

    return pa.array(range(count), pa.int64())
