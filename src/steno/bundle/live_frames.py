"""The frames of a run that is still going on, read as they grow, a bounded number at once.

The files are held open, so that what was written can be read to its end when the run is sealed meanwhile and
the spool removed. The command may write into them: what cannot be true is not given, and a name that is not
there is None. Memory grows by eight bytes a string. Nothing here writes, locks or waits.
"""

from __future__ import annotations

import os
from array import array
from contextlib import suppress
from typing import Self

from steno.bundle.folder import Folder
from steno.bundle.frame_records import LENGTH, MAX_STRING, FramesError, read_at
from steno.bundle.frames import BATCH, STRINGS_NONCE_BYTES, decryptor, parse_header
from steno.evidence import wire

_FILES = (wire.HEADER_FILE, wire.EVENTS_FILE, wire.STATES_FILE, wire.STRINGS_FILE)
_READ = 1 << 20


class LiveFrames:
    def __init__(self, folder: Folder, key: bytes) -> None:
        """Raises OSError or FramesError while the helper has not made its files yet."""
        self._key = key
        self._files: dict[str, int] = {}
        try:
            for name in _FILES:
                self._files[name] = folder.open(name)
            self._header = self._read_header()
        except BaseException:
            self.close()
            raise
        self._given = 0
        self._string_ends = array("Q", [0])
        self._strings_damaged = False
        self._settled = self._there()  # events that were there at the last look
        self._ready = 0

    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """The helper has ended its record."""
        return bool(self._header.closed)

    @property
    def by_probe(self) -> bool:
        """Events come out of order: what a probe tells comes later than what a filter stops."""
        return bool(self._header.features & wire.FEATURES["ebpf"])

    def advance(self, *, to_the_end: bool = False) -> None:
        """Look at what is there. An event is given at the look after that: its result may be told later."""
        with suppress(FramesError):  # somebody wrote into it: go on with what was known
            self._header = self._read_header()
        there = self._there()
        self._settled, self._ready = there, there if to_the_end or self.closed else self._settled
        self._find_strings()

    def take(self) -> bytes:
        """The next whole records that are ready, at most `BATCH` of them; nothing when all are given."""
        size = wire.EVENT.size
        count = min(self._ready - self._given, BATCH)
        if count <= 0:
            return b""
        records = read_at(self._files[wire.EVENTS_FILE], self._given * size, count * size)
        records = records[: len(records) // size * size]
        self._given += len(records) // size
        return records

    def text(self, number: int) -> bytes | None:
        """A string, in clear; None for one that is not there."""
        if number == 0:
            return b""
        if number >= len(self._string_ends):
            return None
        start, end = self._string_ends[number - 1] + LENGTH.size, self._string_ends[number]
        return self._clear(start, end - start)

    def mode(self, state: int) -> int:
        """The mode of what an event found, 0 where nothing was found or nobody looked."""
        if state < wire.STATE_FIRST:
            return 0
        at = (state - wire.STATE_FIRST) * wire.STATE.size
        record = read_at(self._files[wire.STATES_FILE], at, wire.STATE.size)
        return wire.State(*wire.STATE.unpack(record)).mode if len(record) == wire.STATE.size else 0

    def _read_header(self) -> wire.Header:
        return parse_header(read_at(self._files[wire.HEADER_FILE], 0, wire.HEADER.size))

    def _there(self) -> int:
        return min(self._size(wire.EVENTS_FILE), self._header.events) // wire.EVENT.size

    def _size(self, name: str) -> int:
        return os.fstat(self._files[name]).st_size

    def _clear(self, start: int, size: int) -> bytes:
        nonce = self._header.nonce[:STRINGS_NONCE_BYTES]
        return decryptor(self._key, nonce, start)(read_at(self._files[wire.STRINGS_FILE], start, size))

    def _find_strings(self) -> None:
        """Learn where the new strings end; they are read when somebody asks for them."""
        whole = min(self._size(wire.STRINGS_FILE), self._header.strings)
        while not self._strings_damaged and self._string_ends[-1] + LENGTH.size <= whole:
            start = self._string_ends[-1]
            block = self._clear(start, min(_READ, whole - start))
            if not self._find_ends(block, start, whole):
                return

    def _find_ends(self, block: bytes, start: int, whole: int) -> bool:
        """Every string that begins in the block; False when the next one is not whole yet."""
        at = 0
        while at + LENGTH.size <= len(block):
            (length,) = LENGTH.unpack_from(block, at)
            end = start + at + LENGTH.size + length
            self._strings_damaged = length > MAX_STRING
            if self._strings_damaged or end > whole:
                return False
            self._string_ends.append(end)
            at += LENGTH.size + length
        return at > 0
