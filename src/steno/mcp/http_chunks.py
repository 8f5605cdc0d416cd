"""A body that comes in chunks.

In: its bytes, in pieces of any size. Out: what is in the chunks; that it has ended, and what came after it.
What a chunk says beside its size, and trailers, are dropped. Whatever is not written as it must be is h11's
error, and what is read here is what h11 would read; a test says so. Never holds more than a line.
"""

from __future__ import annotations

import re

import h11

_MAX_LINE = 16 << 10
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[\t -~\x80-\xff]*)?[ \t]*")
_TRAILER = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*")


class Chunks:
    def __init__(self) -> None:
        self.has_ended = False
        self.rest = b""  # came, and was not read yet; after the end: what belongs to the next message
        self._left = 0  # of the chunk that was begun
        self._line = self._size

    def feed(self, data: bytes) -> bytes:
        held = self.rest + data
        at, found = 0, []
        while not self.has_ended and at < len(held):
            if self._left:
                found.append(held[at : at + self._left])
                at += len(found[-1])
                self._left -= len(found[-1])
                continue
            end = held.find(b"\r\n", at, at + _MAX_LINE)
            if end < 0:
                if len(held) - at >= _MAX_LINE:
                    raise h11.RemoteProtocolError("a line without an end among the chunks")
                break
            self._line(held[at:end])
            at = end + 2
        self.rest = held[at:]
        return b"".join(found)

    # --- a line, by what it is -------------------------------------------------------------------------

    def _size(self, line: bytes) -> None:
        said = _SIZE.fullmatch(line)
        if said is None:
            raise h11.RemoteProtocolError("a chunk without a size")
        self._left = int(said[1], 16)
        self._line = self._end_of_chunk if self._left else self._trailer

    def _end_of_chunk(self, line: bytes) -> None:
        if line:
            raise h11.RemoteProtocolError("a chunk that is longer than its size")
        self._line = self._size

    def _trailer(self, line: bytes) -> None:
        if line and _TRAILER.fullmatch(line) is None:
            raise h11.RemoteProtocolError("a trailer that is no header")
        self.has_ended = not line
