"""The records of steno-trace's files: events as columns, strings and states by number.

What does not fit its file raises `FramesError`. States are read when they are asked for.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

from steno.evidence import wire

# One argument list is at most 6 MiB on Linux; what is longer is no string of ours.
MAX_STRING = 8 << 20
LENGTH = struct.Struct("<I")
_WHOLE = struct.Struct(f"{wire.EVENT.size}s")
_CLOSE = 4
_LONGS = wire.EVENT.size // 8


class FramesError(ValueError):
    """The bytes are not frames of this version, or were encrypted with another key."""


class Batch:
    """Whole event records, and each of their fields as a column."""

    def __init__(self, records: bytes, *, large: bool = False) -> None:
        """`large`: a part of so many events that a library for columns is worth its loading."""
        self._records = records
        self._large = large
        self.count = len(records) // wire.EVENT.size
        view = memoryview(records)
        small, words, longs = view.cast("H"), view.cast("I"), view.cast("Q")
        self.mono_ns = longs[0::_LONGS]
        self.process = words[2::14]
        self.tid = words[3::14]
        self.op = self.byte(16)  # the codes fit in a byte; `byte(17)` is 0
        self.call = small[9::28]
        self.notes = small[10::28]
        self.result = view.cast("h")[11::28]
        self.path = words[6::14]
        self.resolved = words[7::14]
        self.extra = words[8::14]
        self.state = words[9::14]
        self.arg = longs[5::_LONGS]
        self.arg2 = longs[6::_LONGS]

    @cached_property
    def kinds(self) -> Kinds:
        """The calls that differ in more than their time: most are made again and again."""
        timeless = bytearray(self._records)
        memoryview(timeless).cast("Q")[0::_LONGS] = memoryview(bytes(8 * self.count)).cast("Q")
        return _kinds_by_arrow(timeless, self.count) if self._large else _kinds_by_dict(timeless)

    def halves(self) -> tuple[Batch, Batch]:
        middle = self.count // 2 * wire.EVENT.size
        return (
            Batch(self._records[:middle], large=self._large),
            Batch(self._records[middle:], large=self._large),
        )

    def byte(self, offset: int) -> bytes:
        """One byte of every record; the quickest way to see that none is out of bounds."""
        return self._records[offset :: wire.EVENT.size]


class Kinds(NamedTuple):
    calls: Batch  # one record of each kind, without its time, in order of first sight
    of_rows: Any  # for every record the place of its kind: a list, or a column of the library's


def _kinds_by_dict(timeless: bytearray) -> Kinds:
    places: defaultdict[bytes, int] = defaultdict()
    places.default_factory = places.__len__
    of_rows = [places[record] for (record,) in _WHOLE.iter_unpack(timeless)]
    return Kinds(Batch(b"".join(places)), of_rows)


def _kinds_by_arrow(timeless: bytearray, count: int) -> Kinds:
    import pyarrow as pa  # late: start-up has a budget

    column = pa.Array.from_buffers(pa.binary(wire.EVENT.size), count, [None, pa.py_buffer(timeless)])
    encoded = column.dictionary_encode()
    records = encoded.dictionary.buffers()[1].to_pybytes()[: len(encoded.dictionary) * wire.EVENT.size]
    return Kinds(Batch(records), encoded.indices)


class Strings(Sequence[bytes]):
    """All strings in one buffer; 0 is the empty one. Ends where the first one is not whole."""

    def __init__(self, clear: bytes) -> None:
        self._clear = clear
        self._ends = array("Q", [0])
        at = 0
        while at + LENGTH.size <= len(clear):
            (length,) = LENGTH.unpack_from(clear, at)
            at += LENGTH.size + length
            if length > MAX_STRING or at > len(clear):
                break
            self._ends.append(at)
        self.whole = self._ends[-1] == len(clear)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, number: int) -> bytes: ...
    @overload
    def __getitem__(self, number: slice) -> list[bytes]: ...
    def __getitem__(self, number: int | slice) -> bytes | list[bytes]:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        if number == 0:
            return b""
        end = self._ends[number]
        return self._clear[self._ends[number - 1] + LENGTH.size : end]


class States(Sequence[wire.State]):
    """The state records on the disk, from 0; an event's `state` is `wire.STATE_FIRST` more than that."""

    def __init__(self, fd: int, count: int) -> None:
        self._fd = fd
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> wire.State: ...
    @overload
    def __getitem__(self, number: slice) -> list[wire.State]: ...
    def __getitem__(self, number: int | slice) -> wire.State | list[wire.State]:
        if isinstance(number, slice):
            return [self[each] for each in range(self._count)[number]]
        return wire.State(*wire.STATE.unpack(self.records([range(self._count)[number]])))

    def records(self, numbers: Sequence[int]) -> bytes:
        """The records of these numbers, which are sorted; those that lie close together are read at once."""
        size = wire.STATE.size
        span = numbers[-1] - numbers[0] + 1 if numbers else 0
        if span <= _CLOSE * len(numbers):
            data = read_at(self._fd, numbers[0] * size, span * size) if numbers else b""
            if span > len(numbers):
                places = ((number - numbers[0]) * size for number in numbers)
                data = b"".join([data[at : at + size] for at in places])
        else:
            data = b"".join(read_at(self._fd, number * size, size) for number in numbers)
        if len(data) != len(numbers) * size:
            raise FramesError("states.bin became shorter while it was read")
        return data


def read_at(fd: int, start: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.pread(fd, min(size, 1 << 30), start)):
        parts.append(part)
        start += len(part)
        size -= len(part)
    return b"".join(parts)
