"""Cutting a stream of bytes into lines, which may arrive in any pieces and have a greatest length."""

from __future__ import annotations

from collections.abc import Iterator

MAX_LINE = 256 << 20


class LineTooLongError(ValueError):
    """A line is longer than anyone may ask us to hold. It is skipped."""


class LineSplitter:
    """Gives whole lines with their ends, byte for byte, and holds one unfinished line."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, block: bytes) -> Iterator[bytes | LineTooLongError]:
        """Take all that it gives before the next block."""
        begin = 0
        while (end := block.find(b"\n", begin) + 1) > 0:
            yield from self._add(block[begin:end])
            if self._parts:
                yield self.rest()
            self._skipping = False
            begin = end
        yield from self._add(block[begin:] if begin else block)

    def rest(self) -> bytes:
        """What has no end yet; some readers take it for a line when the stream ends."""
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return line

    def _add(self, part: bytes) -> Iterator[LineTooLongError]:
        if self._skipping or not part:
            return
        self._held += len(part)
        self._parts.append(part)
        if self._held > self._max_line:
            self.rest()
            self._skipping = True
            yield LineTooLongError(f"a line of more than {self._max_line} bytes")
