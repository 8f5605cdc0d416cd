"""One pass of the table of system calls for all that is concluded from it, and the same bytes as alone."""

from __future__ import annotations

from io import BytesIO
from typing import BinaryIO, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steno.evidence import compat, layout
from steno.evidence.layers import Layers
from steno.evidence.syscalls import BadTableError, RowBatch
from steno.judge.judgement import scans_for
from steno.judge.scan import Reading
from support.calls_made import decision, run_of, said_call
from support.documents import documents
from support.frames_made import FakeFrames
from support.spools import MemoryLayers

DOCUMENTS = [
    layout.CORRELATION,
    layout.CALLS,
    layout.FILES,
    layout.HEALTH,
    layout.KERNEL_LINES,
    layout.PROCESSES,
    layout.SURFACE,
]


class Counted(MemoryLayers):
    """Layers that count how often their table is opened."""

    passes = 0

    @classmethod
    def of(cls, layers: MemoryLayers, changed: dict[str, bytes] | None = None) -> Self:
        names = filter(layers.has, (layout.KERNEL_TABLE, layout.FILE_LINES, *compat.FOLDED_CLAIMS))
        files = {name: b"".join(layers.read(name)) for name in names}
        return cls([*layers.events()], files | (changed or {}), block=1 << 16)

    def open(self, path: str) -> BinaryIO:
        self.passes += path == layout.KERNEL_TABLE
        return super().open(path)


def frames() -> FakeFrames:
    made = FakeFrames()
    for number, parent in ((1, 0), (2, 1)):
        made.event("process", process=number, arg=1000 + number | parent << 32, arg2=7, result=0, at=0)
        made.event("open", f"/{number}", process=number, arg=0o101, at=number * 10)
    return made


def run(*, with_calls: bool) -> Counted:
    told = ([decision("a", at=(5, 25))], said_call("a")) if with_calls else ()
    return Counted.of(run_of(frames(), *told, lines=[{"path": "/1", "after": {"exists": False}}]))


def made(layers: Layers, name: str) -> bytes:
    return b"".join(documents(layers).read(name))


@pytest.mark.parametrize(("with_calls", "passes"), [(False, 1), (True, 2)])
def test_all_documents_are_made_of_one_pass_and_of_two_where_calls_are_told(
    with_calls: bool, passes: int
) -> None:
    layers = run(with_calls=with_calls)
    reading = Reading(layers)
    reading.expect(scans_for(reading, DOCUMENTS))
    together = {name: made(reading, name) for name in DOCUMENTS}
    assert layers.passes == passes
    assert together == {name: made(run(with_calls=with_calls), name) for name in DOCUMENTS}


def test_what_was_read_is_not_read_again() -> None:
    layers = run(with_calls=True)
    found = documents(layers)
    first = {name: b"".join(found.read(name)) for name in DOCUMENTS}
    passes = layers.passes
    assert {name: b"".join(found.read(name)) for name in DOCUMENTS} == first
    assert layers.passes == passes


def test_what_one_document_cannot_be_made_of_takes_nothing_from_the_others() -> None:
    layers = run(with_calls=False)
    surface = made(layers, layout.SURFACE)
    table = pq.read_table(layers.open(layout.KERNEL_TABLE))
    place = table.schema.get_field_index("tid")
    field = table.schema.field(place)
    out = BytesIO()
    pq.write_table(table.set_column(place, field, pa.nulls(table.num_rows, field.type)), out)
    reading = Reading(Counted.of(layers, {layout.KERNEL_TABLE: out.getvalue()}))
    reading.expect(scans_for(reading, DOCUMENTS))
    assert made(reading, layout.SURFACE) == surface
    with pytest.raises(BadTableError, match="without tid"):
        made(reading, layout.PROCESSES)


class _Interrupted:
    """Somebody presses Ctrl-C while the table is read."""

    columns: ClassVar[tuple[str, ...]] = ("op",)

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def take(self, _batch: RowBatch) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_is_no_reason_to_read_once_more() -> None:
    layers = run(with_calls=False)
    reading = Reading(layers)
    reading.expect(scans_for(reading, DOCUMENTS))
    with pytest.raises(KeyboardInterrupt):
        reading.scanned(_Interrupted)
    assert layers.passes == 1


def test_layers_without_a_table_are_never_opened() -> None:
    layers = Counted.of(run_of(None, [decision("a", at=(5, 25))]))
    told = [made(layers, name) for name in (layout.CALLS, layout.CORRELATION, layout.SURFACE)]
    assert all(told)
    assert layers.passes == 0
