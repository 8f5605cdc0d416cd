"""What the observer tells: read in pieces of any size, believed only as far as it makes sense."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from steno.capture.streams import MAX_LENGTH, SplitReader
from steno.evidence import layout

Told = list[tuple[str, int, bytes]]
_TAPES = {1: layout.STDOUT, 2: layout.STDERR}
RECORDS = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.integers(0, 2**63), st.binary(max_size=20)), max_size=6
)


def packed(stream: int, mono_ns: int, data: bytes) -> bytes:
    return struct.pack("<QBI", mono_ns, stream, len(data)) + data


def read(pieces: list[bytes]) -> Told:
    found: Told = []
    told = SplitReader(lambda tape, mono_ns, data: found.append((tape, mono_ns, data)))
    for piece in pieces:
        told.feed(piece)
    return found


@given(RECORDS, st.integers(1, 40))
def test_records_are_the_same_however_they_are_cut(records: list[tuple[int, int, bytes]], size: int) -> None:
    sent = b"".join(packed(*record) for record in records)
    pieces = [sent[start : start + size] for start in range(0, len(sent), size)]
    assert read(pieces) == [(_TAPES[stream], mono_ns, data) for stream, mono_ns, data in records]


def test_half_a_record_is_not_told() -> None:
    assert read([packed(1, 5, b"whole") + packed(2, 6, b"cut")[:-1]]) == [(layout.STDOUT, 5, b"whole")]


def test_nothing_after_garbage_is_believed() -> None:
    after = packed(1, 5, b"after")
    for garbage in (packed(3, 1, b""), struct.pack("<QBI", 1, 1, MAX_LENGTH + 1)):
        assert read([packed(2, 1, b"before") + garbage, after]) == [(layout.STDERR, 1, b"before")]


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_are_read_without_an_error(pieces: list[bytes]) -> None:
    assert isinstance(read(pieces), list)
