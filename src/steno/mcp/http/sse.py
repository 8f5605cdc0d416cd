"""Server-sent events on their way through: every message is looked at, and passes byte for byte.

What belongs to no data passes line by line; an event with data is held until it is complete. Lines end in
LF, CR or CRLF, and no more than a bound is held.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_EVENT = 128 << 20
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLongError(ValueError):
    """An event does not end within the bound."""


class EventRelay:
    """One stream. `feed` gives what may be passed on now, `end` the rest."""

    def __init__(self, look: Callable[[bytes], bytes], limit: int = MAX_EVENT) -> None:
        self.resumable = False  # an event carried an id: the client may ask for the rest later
        self._look = look
        self._limit = limit
        self._line = bytearray()  # begun and not ended
        self._held: list[tuple[bytes, bytes | None]] = []  # lines from the first data on, and their data
        self._held_bytes = 0
        self._after_cr = False
        self._first = True

    def feed(self, piece: bytes) -> bytes:
        out = bytearray()
        start = self._rest_of_line_end(piece, out)
        for end in _LINE_END.finditer(piece, start):
            self._line += piece[start : end.start()]
            self._take(end.group(), out)
            start = end.end()
        self._line += piece[start:]
        if piece:
            self._after_cr = piece.endswith(b"\r")
        if len(self._line) + self._held_bytes > self._limit:
            raise EventTooLongError("an event without an end")
        return bytes(out)

    def end(self) -> bytes:
        """A torn event is looked at too: not every client drops it as it should."""
        out = bytearray()
        if self._line:
            self._take(b"", out)
        return bytes(out) + self._event()

    def _rest_of_line_end(self, piece: bytes, out: bytearray) -> int:
        if not (self._after_cr and piece.startswith(b"\n")):
            return 0
        if self._held:
            line, data = self._held[-1]
            self._held[-1] = (line + b"\n", data)
        else:
            out += b"\n"
        return 1

    def _take(self, line_end: bytes, out: bytearray) -> None:
        line = bytes(self._line)
        self._line.clear()
        text = line.removeprefix(_BYTE_ORDER_MARK) if self._first else line
        self._first = False
        if not text:
            out += self._event() + line + line_end
            return
        name, _, value = text.partition(b":")
        self.resumable = self.resumable or (name == b"id" and bool(value.strip()))
        data = value.removeprefix(b" ") if name == b"data" else None
        if data is None and not self._held:
            out += line + line_end
            return
        self._held.append((line + line_end, data))
        self._held_bytes += len(line) + len(line_end)

    def _event(self) -> bytes:
        """What is held, as the client shall read it; nothing is held after that."""
        held, self._held, self._held_bytes = self._held, [], 0
        data = b"\n".join([data for _, data in held if data is not None])
        shown = self._look(data) if data else data
        if shown == data:
            return b"".join([line for line, _ in held])
        others = b"".join([line for line, data in held if data is None])
        lines = shown.rstrip(b"\r\n").split(b"\n") if shown else []
        return b"".join([b"data: " + line + b"\n" for line in lines]) + others
