"""The rows of a batch that differ in some columns: most calls are made again and again.

In: a batch of the kernel table and names of columns. Out: for every different row where it is first, how
often it is there, and when first and last, in the order of the rows. Two ways give the same: dicts, and, for
a table of so many rows that loading it pays, the library's own grouping. Never looks at what a text says:
equal texts may be different rows where a dictionary holds them twice, so who adds them up asks for that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from steno.judge.kernel_rows import BATCH, RowBatch, border, plain_numbers

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
