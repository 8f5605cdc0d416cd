"""Where lines begin and end, in bytes that may be one long line.

In: bytes and positions in them. Out: positions. Never: a search of the same stretch twice for its end.
"""

from __future__ import annotations

import re

_REST = re.compile(rb"[^\r\n\x00]*")


class Lines:
    __slots__ = ("_begin", "_data", "_end")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._begin = self._end = -1

    def end(self, position: int) -> int:
        """The end of the text of the line; the last answer is kept."""
        if not self._begin <= position <= self._end:
            self._begin = position
            self._end = run_end(_REST, self._data, position)
        return self._end

    def start(self, position: int, reach: int) -> int | None:
        """The start of the line, when it is within reach."""
        earliest = max(0, position - reach)
        found = self._data.rfind(b"\n", earliest, position)
        if found >= 0:
            return found + 1
        return 0 if earliest == 0 else None


def run_end(run: re.Pattern[bytes], data: bytes, position: int) -> int:
    """Where a run of letters ends that may be empty."""
    match = run.match(data, position)
    return position if match is None else match.end()
