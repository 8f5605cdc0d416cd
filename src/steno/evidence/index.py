"""The index beside a recorded stream: which bytes arrived when.

A record is a little-endian pair (u64 monotonic nanoseconds since the run began, u32 length). The
lengths add up to the stream's bytes after its header line. No record is longer than `MAX_LENGTH`, so
that whoever reads one holds a bounded piece.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

RECORD = struct.Struct("<QI")
MAX_LENGTH = 1 << 24


class Arrival(NamedTuple):
    mono_ns: int
    length: int


def pack(arrivals: Iterable[Arrival]) -> bytes:
    return b"".join(RECORD.pack(*arrival) for arrival in arrivals)


def unpack(blocks: Iterable[bytes]) -> Iterator[Arrival]:
    """Whole records of a stream of blocks; a torn last record is left out."""
    rest = b""
    for block in blocks:
        data = rest + block
        whole = len(data) - len(data) % RECORD.size
        for fields in RECORD.iter_unpack(data[:whole]):
            yield Arrival(*fields)
        rest = data[whole:]
