"""Lines that are too long for a narrow terminal, folded at words.

In: painted lines and the width of a terminal, if there is one. Out: lines of at most that width, what was
folded indented below its first line; a colour ends with each line and begins again on the next, because
pagers forget it there. Never drops a character but the blank that a line is folded at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from steno.views.paint import columns_shown
from steno.views.plain import columns

_PIECE = re.compile(r"\x1b\[[0-9;]*m|[^\x1b ]+| +|\x1b")
_END = "\x1b[0m"


def folded(lines: Iterable[str], *, width: int | None, indent: int) -> Iterator[str]:
    for line in lines:
        if width is None or columns_shown(line) <= width:
            yield line
        else:
            yield from _fold(line, max(width, 1), min(indent, width // 3))


def _fold(line: str, width: int, indent: int) -> Iterator[str]:
    made, used, colour = "", 0, ""
    for piece in _pieces(line, width - indent):
        if piece.startswith("\x1b"):
            colour = "" if piece == _END else colour + piece
            made += piece
            continue
        room = columns(piece)
        if used + room > width:
            yield made.rstrip(" ") + (_END if colour else "")
            made, used = " " * indent + colour, indent
            if piece.isspace():
                continue
        made, used = made + piece, used + room
    yield made


def _pieces(line: str, longest: int) -> Iterator[str]:
    """Colours, words and blanks; a word that is longer than a line is cut in pieces that are not."""
    for piece in _PIECE.findall(line):
        if piece.startswith("\x1b") or columns(piece) <= longest:
            yield piece
        else:
            yield from _cut(piece, max(longest, 1))


def _cut(word: str, longest: int) -> Iterator[str]:
    part, used = "", 0
    for character in word:
        wide = columns(character)
        if part and used + wide > longest:
            yield part
            part, used = "", 0
        part, used = part + character, used + wide
    yield part
