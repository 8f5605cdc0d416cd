"""What the observer tells of the terminal: which stream each byte was written on.

In: the bytes of its pipe, in pieces of any size. Out: for each record the tape, the moment and the bytes, in
the order of the terminal. Bytes that cannot be a record end the reading: nothing after them is believed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from steno.evidence import layout

_RECORD = struct.Struct("<QBI")
_TAPES = {1: layout.STDOUT, 2: layout.STDERR}
MAX_LENGTH = 1 << 20


class ToldStreams:
    def __init__(self, observe: Callable[[str, int, bytes], None]) -> None:
        self._observe = observe
        self._rest = b""
        self.damaged = False

    def feed(self, data: bytes) -> None:
        if self.damaged:
            return
        data = self._rest + data if self._rest else data
        start = 0
        while len(data) - start >= _RECORD.size:
            mono_ns, stream, length = _RECORD.unpack_from(data, start)
            tape = _TAPES.get(stream)
            if tape is None or length > MAX_LENGTH:
                self.damaged = True
                return
            end = start + _RECORD.size + length
            if end > len(data):
                break
            self._observe(tape, mono_ns, data[start + _RECORD.size : end])
            start = end
        self._rest = data[start:]
