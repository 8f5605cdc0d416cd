"""Reading the kernel table: exact on ours, and one kind of refusal for everything else."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import layout, syscalls
from steno.evidence.syscalls import COLUMNS, BadTableError, batches
from steno.judge import files
from steno.judge.scan import held
from support.documents import accesses, processes
from support.frames_made import ABSENT, FakeFrames, Found
from support.kernel_tables import table_of
from support.spools import FINISH, START, MemoryLayers, numbered


def layers_of(table: bytes) -> MemoryLayers:
    return MemoryLayers(numbered([START, FINISH]), {layout.KERNEL_TABLE: table})


def made() -> FakeFrames:
    fake = FakeFrames().process().exec("/bin/sh", ["sh", b"\xff"], result=0)
    fake.event("open", "/a", state=Found(size=3), arg=1).event("stat", "/b", state=ABSENT, result=-2)
    fake.event("readlink", "/l", state=Found(mode=0o120777, target="/a"), process=2).event("fork")
    return fake.exit()


TABLE = table_of(made())
READERS: list[Callable[[MemoryLayers], object]] = [
    held,
    lambda layers: b"".join(accesses(layers)),
    lambda layers: b"".join(processes(layers)),
    files.files,
]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_rows_are_read_as_they_were_written_whatever_the_batches(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syscalls, "BATCH", size)
    rows = pq.read_table(io.BytesIO(TABLE)).to_pylist()
    read: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for batch in batches(layers_of(TABLE), list(COLUMNS)):
        assert batch.count <= size
        read["op"] += batch.ops()
        for name in ("mono_ns", "process", "tid", "notes", "arg", "arg2"):
            read[name] += batch.numbers(name)
        for name in ("result", "exists", "dev", "ino", "mode", "size", "mtime_ns", "ctime_ns", "uid", "gid"):
            read[name] += batch.optional(name)
        for name in ("path", "resolved", "extra", "target"):
            read[name] += batch.texts(name)
    for name in set(COLUMNS) - {"call", "content", "nlink"}:
        assert read[name] == [row[name] for row in rows], name
    assert held(layers_of(TABLE)).rows == len(rows) == 7


@given(st.data())
def test_on_any_changed_bytes_every_reader_answers_or_refuses_with_one_error(data: st.DataObject) -> None:
    content = bytearray(TABLE)
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), min_size=1, max_size=4)
    ):
        content[at] = byte
    cut = data.draw(st.sampled_from([len(content), len(content) - 1, len(content) // 2]))
    layers = layers_of(bytes(content[:cut]))
    for read in READERS:
        try:
            read(layers)
        except BadTableError:
            continue


@given(st.binary(max_size=200))
def test_bytes_that_are_no_table_are_refused(data: bytes) -> None:
    for content in (data, b"PAR1" + data + b"PAR1"):
        with pytest.raises(BadTableError):
            held(layers_of(content))


def rewritten(change: Callable[[pa.Table], pa.Table], **options: Any) -> MemoryLayers:
    file = io.BytesIO()
    pq.write_table(change(pq.read_table(io.BytesIO(TABLE))), file, **{"store_schema": False, **options})
    return layers_of(file.getvalue())


def replaced(name: str, values: list[Any]) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        index = table.schema.get_field_index(name)
        return table.set_column(index, name, pa.array(values, table.schema.field(name).type))

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop_columns(["tid"]),
        lambda table: table.set_column(1, "process", table.column("process").cast(pa.int64())),
        lambda table: table.append_column("tid", table.column("tid")),
    ],
)
def test_a_column_that_is_missing_doubled_or_of_another_type_is_refused(
    change: Callable[[pa.Table], pa.Table],
) -> None:
    with pytest.raises(BadTableError, match="is not there once"):
        held(rewritten(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.append_column("more", pa.nulls(table.num_rows, pa.int8())),
        lambda table: table.select([*table.column_names[1:], table.column_names[0]]),
    ],
)
def test_columns_of_a_newer_steno_and_their_order_change_nothing(
    change: Callable[[pa.Table], pa.Table],
) -> None:
    assert list(accesses(rewritten(change))) == list(accesses(layers_of(TABLE)))


def test_an_operation_that_only_a_newer_steno_knows_is_told_as_it_is() -> None:
    lines = list(accesses(rewritten(replaced("op", ["open"] * 6 + ["teleport"]))))
    assert any(b'"op":"teleport"' in line and b'"category":"other"' in line for line in lines)


def test_a_row_without_an_operation_or_a_number_is_refused() -> None:
    with pytest.raises(BadTableError, match="operation"):
        list(accesses(rewritten(replaced("op", ["open"] * 6 + [None]))))
    with pytest.raises(BadTableError, match="without process"):
        list(accesses(rewritten(replaced("process", [None] * 7))))


def test_a_row_group_larger_than_ours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls, "MAX_GROUP_ROWS", 6)
    with pytest.raises(BadTableError, match="more than 6 rows"):
        held(layers_of(TABLE))


def test_a_table_that_claims_more_rows_than_its_bytes_can_mean_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(syscalls, "MOST_ROWS_A_BYTE", 0)
    with pytest.raises(BadTableError, match="claims"):
        held(layers_of(TABLE))


def test_a_table_written_by_another_program_with_the_same_columns_is_read() -> None:
    layers = rewritten(lambda table: table, compression="snappy", use_dictionary=False, row_group_size=2)
    assert b"".join(accesses(layers)) == b"".join(accesses(layers_of(TABLE)))
