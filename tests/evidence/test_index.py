"""The index of a stream: packed pairs that survive any cut into blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import index
from steno.evidence.index import Arrival

ARRIVALS = st.lists(
    st.builds(Arrival, st.integers(0, 2**64 - 1), st.integers(0, index.MAX_LENGTH)), max_size=8
)


def blocks_of(data: bytes, sizes: list[int]) -> list[bytes]:
    blocks, at = [], 0
    for size in sizes:
        blocks.append(data[at : at + size])
        at += size
    return [*blocks, data[at:]]


@given(ARRIVALS, st.lists(st.integers(0, 30), max_size=8))
def test_records_are_read_back_however_the_bytes_are_cut(arrivals: list[Arrival], sizes: list[int]) -> None:
    assert list(index.unpack(blocks_of(index.pack(arrivals), sizes))) == arrivals


@given(ARRIVALS, st.data())
def test_a_torn_end_costs_only_the_record_it_tore(arrivals: list[Arrival], data: st.DataObject) -> None:
    packed = index.pack(arrivals)
    cut = data.draw(st.integers(0, len(packed)))
    assert list(index.unpack([packed[:cut]])) == arrivals[: cut // index.RECORD.size]


def test_a_record_is_twelve_bytes_little_endian() -> None:
    assert index.pack([Arrival(1, 2)]) == b"\1\0\0\0\0\0\0\0\2\0\0\0"
