"""A table of a run: rows that are made when they are asked for, and the same as Arrow."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from steno.judge.types import FileState, Row

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 14
_BOUND = 1 << 63
R = TypeVar("R", bound=Row)


class Table(Generic[R]):
    """Iterate over it for rows, or hand it to pandas, polars or DuckDB as it is.

    Rows are made anew each time; `len` counts them.
    """

    def __init__(self, name: str, row: type[R], rows: Callable[[], Iterable[R]]) -> None:
        self.name = name
        self.row = row
        self._rows = rows

    def __iter__(self) -> Iterator[R]:
        return iter(self._rows())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, place: int) -> R:
        found = list(self)
        return found[place]

    def __repr__(self) -> str:
        return f"<table {self.name} of {', '.join(columns(self.row))}>"

    @property
    def schema(self) -> pa.Schema:
        """The columns, as Arrow has them."""
        return arrow_schema(self.row)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """As Arrow, a bounded number of rows at a time."""
        import pyarrow as pa

        rest = iter(self)
        while rows := list(islice(rest, BATCH)):
            yield pa.RecordBatch.from_pylist(list(map(plain, rows)), schema=self.schema)

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(), schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def columns(row: type[Row]) -> tuple[str, ...]:
    return row.COLUMNS or row.__struct_fields__


def types_of(row: type[Row], *, include_extras: bool = False) -> dict[str, Any]:
    """The type of each column, in their order."""
    hints = typing.get_type_hints(row, include_extras=include_extras)
    for name, member in vars(row).items():
        if isinstance(member, property):
            hints[name] = typing.get_type_hints(member.fget, include_extras=include_extras).get("return")
    return {name: hints[name] for name in columns(row)}


def plain(row: Row) -> dict[str, Any]:
    """The columns of a row; bytes stay bytes. A time of a file that 64 bits cannot hold is None."""
    if not row.COLUMNS:
        found: dict[str, Any] = msgspec.to_builtins(row, builtin_types=(bytes,))
        return found
    return {name: _plain(getattr(row, name)) for name in row.COLUMNS}


def _plain(value: Any) -> Any:
    if not isinstance(value, FileState):
        return value
    found: dict[str, Any] = msgspec.to_builtins(value, builtin_types=(bytes,))
    if value.mtime_ns is not None and not -_BOUND <= value.mtime_ns < _BOUND:
        found["mtime_ns"] = None
    return found


def arrow_schema(row: type[Row]) -> pa.Schema:
    import pyarrow as pa

    fields = ((name, *_arrow_type(hint)) for name, hint in types_of(row).items())
    return pa.schema([pa.field(name, kind, nullable=nullable) for name, kind, nullable in fields])


def columns_of(row: type[Row]) -> Iterator[tuple[str, str]]:
    """The name and the type of each column, for people."""
    for field in arrow_schema(row):
        kind = "state" if str(field.type).startswith("struct") else str(field.type)
        yield (
            field.name,
            kind.replace("list<item: ", "list<").replace(" not null", "") + ("?" if field.nullable else ""),
        )


def _arrow_type(hint: Any) -> tuple[pa.DataType, bool]:
    """The type, and whether it may be null."""
    import pyarrow as pa

    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        (rest,) = (each for each in arguments if each is not type(None))
        return _arrow_type(rest)[0], True
    if origin is typing.Literal:
        return pa.string(), False
    if origin is list:
        kind, nullable = _arrow_type(arguments[0])
        return pa.list_(pa.field("item", kind, nullable=nullable)), False
    if isinstance(hint, type) and issubclass(hint, Row):
        return pa.struct(list(arrow_schema(hint))), False
    plain = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), bytes: pa.binary()}
    return plain[hint], False
