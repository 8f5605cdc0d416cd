"""The index of the recorded streams: which bytes arrived when.

A record is little-endian: u64 nanoseconds since the run began, u32 length, and in a bundle, where all
streams have one index, u32 for the stream: its place in `layout.TAPES`. In a spool each stream has an index
of its own. No record is longer than `MAX_LENGTH`, so that whoever reads one holds a bounded piece.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

RECORD = struct.Struct("<QI")
JOINT_RECORD = struct.Struct("<QII")
MAX_LENGTH = 1 << 24


class Arrival(NamedTuple):
    mono_ns: int
    length: int


class StreamArrival(NamedTuple):
    mono_ns: int
    length: int
    stream: int


def pack(arrivals: Iterable[Arrival]) -> bytes:
    return b"".join(RECORD.pack(*arrival) for arrival in arrivals)


def unpack(blocks: Iterable[bytes]) -> Iterator[Arrival]:
    """Whole records of a stream of blocks; a torn last record is left out."""
    return (Arrival(*fields) for fields in _records(RECORD, blocks))


def joined(indexes: Iterable[tuple[int, Iterable[bytes]]]) -> Iterator[bytes]:
    """One index of several, in order of time: each stream by its number, with the blocks of its index."""
    streams = [_numbered(unpack(blocks), number) for number, blocks in indexes]
    for arrival in heapq.merge(*streams, key=lambda arrival: arrival.mono_ns):
        yield JOINT_RECORD.pack(*arrival)


def unpack_joined(blocks: Iterable[bytes]) -> Iterator[StreamArrival]:
    return (StreamArrival(*fields) for fields in _records(JOINT_RECORD, blocks))


def _numbered(arrivals: Iterator[Arrival], number: int) -> Iterator[StreamArrival]:
    return (StreamArrival(*arrival, number) for arrival in arrivals)


def _records(record: struct.Struct, blocks: Iterable[bytes]) -> Iterator[tuple[int, ...]]:
    rest = b""
    for block in blocks:
        data = rest + block
        whole = len(data) - len(data) % record.size
        yield from record.iter_unpack(data[:whole])
        rest = data[whole:]
