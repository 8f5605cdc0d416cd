"""Files that somebody still writes to: whole lines, and the bytes of a stream with their times.

A bounded part is read at once; a line that is too long is passed over and counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from steno.evidence import index

MOST_AT_ONCE = 4 << 20
LONGEST_LINE = 1 << 20
_MOST_RECORDS = 4096
_Some = TypeVar("_Some")


def taken(take: Callable[[], list[_Some]], *, over: bool) -> list[_Some]:
    """A bounded part of what is there; all of it when nobody will look again."""
    found = part = take()
    while over and part:
        part = take()
        found += part
    return found


class GrowingLines:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._at = 0
        self._rest = b""
        self._in_long_line = False
        self.passed_over = 0  # lines that are longer than any of ours

    def close(self) -> None:
        os.close(self._fd)

    def take(self) -> list[bytes]:
        """The whole lines that have come, without their newlines."""
        data = os.pread(self._fd, MOST_AT_ONCE, self._at)
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if lines and self._in_long_line:
            del lines[0]
            self._in_long_line = False
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
            self.passed_over += not self._in_long_line
            self._in_long_line = True
        return lines


class Heard(NamedTuple):
    """Bytes of a stream, masked when they were written."""

    mono_ns: int
    data: bytes


class GrowingTape:
    """A recorded stream and the index beside it."""

    def __init__(self, data: int, records: int) -> None:
        self._data = data
        self._records = records
        self._at = 0
        self._records_at = 0

    def close(self) -> None:
        os.close(self._data)
        os.close(self._records)

    def skip_to_last(self, most: int) -> int:
        """Pass over all but about the last `most` bytes of what is there; returns how many those are."""
        passed = 0
        there = os.fstat(self._data).st_size - self._at
        while there - passed > most and (arrivals := self._next_arrivals()):
            for length in (arrival.length for arrival in arrivals):
                if there - passed <= most:
                    break
                passed += length
                self._at += length
                self._records_at += index.RECORD.size
        return passed

    def take(self) -> list[Heard]:
        heard: list[Heard] = []
        left = MOST_AT_ONCE
        for arrival in self._next_arrivals():
            if arrival.length > left and heard:
                break
            data = os.pread(self._data, arrival.length, self._at)
            if len(data) < arrival.length:  # the index may run ahead of the bytes for a moment
                break
            heard.append(Heard(arrival.mono_ns, data))
            self._at += len(data)
            self._records_at += index.RECORD.size
            left -= len(data)
        return heard

    def _next_arrivals(self) -> list[index.Arrival]:
        data = os.pread(self._records, _MOST_RECORDS * index.RECORD.size, self._records_at)
        return [one for one in index.unpack([data]) if one.length <= index.MAX_LENGTH]
