"""The records of steno-trace's files: events as columns, strings and states by number.

In: bytes of events and strings, a descriptor of the states. Out: numbers and bytes. What does not fit its
file raises `FramesError`. Never decrypts, never writes; states are read when they are asked for.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Sequence
from typing import overload

from steno.events import wire

# One argument list is at most 6 MiB on Linux; what is longer is no string of ours.
MAX_STRING = 8 << 20
LENGTH = struct.Struct("<I")


class FramesError(ValueError):
    """The bytes are not frames of this version, or were encrypted with another key."""


class Batch:
    """Whole event records, and each of their fields as a column."""

    def __init__(self, records: bytes) -> None:
        self._records = records
        self.count = len(records) // wire.EVENT.size
        view = memoryview(records)
        small, words, longs = view.cast("H"), view.cast("I"), view.cast("Q")
        self.mono_ns = longs[0::7]
        self.process = words[2::14]
        self.tid = words[3::14]
        self.op = self.byte(16)  # the codes fit in a byte; `byte(17)` is 0
        self.call = small[9::28]
        self.notes = small[10::28]
        self.result = view.cast("h")[11::28]
        self.path = words[6::14].tolist()
        self.resolved = words[7::14].tolist()
        self.extra = words[8::14].tolist()
        self.state = words[9::14].tolist()
        self.arg = longs[5::7]
        self.arg2 = longs[6::7]

    def halves(self) -> tuple[Batch, Batch]:
        middle = self.count // 2 * wire.EVENT.size
        return Batch(self._records[:middle]), Batch(self._records[middle:])

    def byte(self, offset: int) -> bytes:
        """One byte of every record; the quickest way to see that none is out of bounds."""
        return self._records[offset :: wire.EVENT.size]


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
        """The records of these numbers, which are sorted; neighbours are read at once."""
        size = wire.STATE.size
        if numbers and numbers[-1] - numbers[0] + 1 == len(numbers):
            data = read_at(self._fd, numbers[0] * size, len(numbers) * size)
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
