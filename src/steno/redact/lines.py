"""Where lines begin and end, in bytes that may be one long line.

In: bytes and positions in them. Out: positions. Never: a search of the same stretch twice for its end.
"""

from __future__ import annotations

import re
from typing import Any

from steno.redact.rule import compile_rule, regex
from steno.redact.sequences import ESCAPE, strip
from steno.redact.shapes import OPENS_NEXT_LINE

_REST = regex(rb"[^\r\n\x00]*")


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


_OPENS_NEXT_LINE = compile_rule(OPENS_NEXT_LINE + rb"[ \t]*\r?\n?\z")
_SIGNS = frozenset((b">", b"|"))
_WORD_ENDS = frozenset(
    (b"ord", b"swd", b"ase", b"ret", b"ken", b"key")
)  # of the names, before a line with their value
_MAYBE_LAST = frozenset(b"%c" % letter for letter in b">|\"', \t\r+-0123456789")
TAIL = 300  # bytes of a line that are looked at for what opens the next


def opens_next_line(data: bytes, start: int, end: int) -> bool:
    """Whether the value of a name at the end of this line, line break included, would stand on the next."""
    last = data[max(0, end - 4) : end - 1]
    if (
        last[-1:] not in _MAYBE_LAST
        and last.lower() not in _WORD_ENDS
        and ESCAPE not in data[max(0, end - 32) : end]
    ):
        return False
    tail = data[max(start, end - TAIL) : end].rstrip()
    if ESCAPE in tail:
        tail = strip(tail).rstrip()
    bare = tail.rstrip(b"\"',")
    if bare[-1:] not in _SIGNS and bare[-2:-1] not in _SIGNS and bare[-3:].lower() not in _WORD_ENDS:
        return False
    return _OPENS_NEXT_LINE.search(tail) is not None


def extents(pattern: Any, data: bytes) -> list[tuple[int, int]]:
    """Where the lines are in which the pattern is found; one that opens the next takes that with it."""
    kept = []
    position = 0
    while position < len(data) and (match := pattern.search(data, position)) is not None:
        begin, stop = match.span()
        start = data.rfind(b"\n", position, begin) + 1 or position
        end = data.find(b"\n", max(begin, stop - 1)) + 1 or len(data)
        last = start
        while end < len(data) and opens_next_line(data, last, end):
            last, end = end, data.find(b"\n", end) + 1 or len(data)
        kept.append((start, end))
        position = end
    return kept


def run_end(run: re.Pattern[bytes], data: bytes, position: int) -> int:
    """Where a run of letters ends that may be empty."""
    match = run.match(data, position)
    return position if match is None else match.end()
