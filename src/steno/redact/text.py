"""Where lines begin and end, and the escape sequences of terminals: colours, movements, titles, hyperlinks.

A sequence that the bytes do not end counts as one, so the copy of what came so far is always the beginning of
the copy of what will have come.
"""

from __future__ import annotations

import re
from typing import Any

from steno.redact.rule import compile_rule, regex
from steno.redact.shapes import OPENS_NEXT_LINE

_REST = regex(rb"[^\r\n\x00]*")
_OPENS_NEXT_LINE = compile_rule(OPENS_NEXT_LINE + rb"[ \t]*\r?\n?\z")
_SIGNS = frozenset((b">", b"|"))
_WORD_ENDS = frozenset(
    (b"ord", b"swd", b"ase", b"ret", b"ken", b"key")
)  # of the names, before a line with their value
_MAYBE_LAST = frozenset(b"%c" % letter for letter in b">|\"', \t\r+-0123456789")
TAIL = 300  # bytes of a line that are looked at for what opens the next
ESCAPE = b"\x1b"
TEXT_MOST = 2048  # of a title or a link; what is longer is looked at as ordinary text
_CSI = rb"\[[<=>?]?[0-9;:]*+[ !$]?"
_TITLE = rb"\][0-9]*+;[^\x07\x1b\r\n]{0,%d}+" % TEXT_MOST
_CHARSET = rb"[()]"
_WHOLE = rb"\x1b(?:" + _CSI + rb"[@-~]\x0f?|" + _TITLE + rb"(?:\x07|\x1b\\)|" + _CHARSET + rb"[A-Z0-9])"
_PARTIAL = rb"\x1b(?:" + _CSI + rb"|\][0-9]*+|" + _TITLE + rb"\x1b?|" + _CHARSET + rb")?\Z"
ANY_SEQUENCE = regex(_WHOLE + rb"|" + _PARTIAL)
# What cannot hold a secret itself: in a secret these stay, while a title or the address of a link does not.
HARMLESS = rb"\x1b(?:" + _CSI + rb"[@-~]\x0f?|\]8;;(?:\x07|\x1b\\)|" + _CHARSET + rb"[A-Z0-9])"
HARMLESS_PARTIAL = rb"\x1b(?:" + _CSI + rb"|\](?:8(?:;(?:;\x1b?)?)?)?|" + _CHARSET + rb")?\Z"
_KEPT = regex(rb"(" + HARMLESS + rb"|[\r\n]+)")


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
        tail = strip_sequences(tail).rstrip()
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


def strip_sequences(data: bytes) -> bytes:
    return ANY_SEQUENCE.sub(b"", data) if ESCAPE in data else data


def mask_around_sequences(secret: bytes) -> bytes:
    """Equal length; every byte becomes an asterisk, line breaks and harmless sequences stay."""
    pieces = _KEPT.split(secret)
    pieces[::2] = [b"*" * len(piece) for piece in pieces[::2]]
    return b"".join(pieces)
