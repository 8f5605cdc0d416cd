"""The kernel table made again from the lines of an archive of the third seed.

In: a folder with the lines and their rows, which may be hostile. Out: `layers/kernel.parquet` in another one,
with the columns that the lines carry and nulls in the others, and the number of lines. A line that is not
exactly the one that its row gives at its place is refused. One group of rows is held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from steno.bundle import assay_manifest
from steno.bundle.folder import Folder
from steno.bundle.reader import MAX_LINE, lines_of
from steno.evidence import layout
from steno.judge import assay_lines
from steno.judge.assay_lines import SeenCall, Telling
from steno.judge.kernel_rows import BATCH, COLUMNS, border

_GROUP_BYTES = 64 << 20  # of lines; the table is shorter


def table_of_lines(archive: Folder, run_id: str, made: Folder | None) -> int:
    """How many lines there are; with a folder, their table is written into it."""
    told = Telling(run_id)
    groups = _groups(archive, told)
    if made is None:
        for _ in groups:
            pass
        return told.count
    with os.fdopen(made.create(layout.KERNEL_TABLE), "wb") as file:
        _write(file, groups)
    return told.count


def _groups(archive: Folder, told: Telling) -> Iterator[list[SeenCall]]:
    calls: list[SeenCall] = []
    size = 0
    lines = lines_of(archive, assay_manifest.KERNEL_LINES, MAX_LINE, assay_lines.BadLineError)
    for row in lines_of(archive, assay_manifest.KERNEL_ROWS, MAX_LINE, assay_lines.BadLineError):
        call = assay_lines.parse(row)
        if assay_lines.row(call) != row:
            raise assay_lines.BadLineError(f"{assay_manifest.KERNEL_ROWS}: a row is not canonical")
        if told.line(call) != next(lines, None):
            raise assay_lines.BadLineError(
                f"{assay_manifest.KERNEL_LINES}: line {told.count} is not what its row gives there"
            )
        calls.append(call)
        size += len(row)
        if len(calls) == BATCH or size > _GROUP_BYTES:
            yield calls
            calls, size = [], 0
    if next(lines, None) is not None:
        raise assay_lines.BadLineError(f"{assay_manifest.KERNEL_LINES}: there are more lines than rows")
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
