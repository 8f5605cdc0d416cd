"""Colour where it helps and the user wants it, and lines folded at words. Text is made safe before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from steno.text.safe import columns

_CODES = {"good": "32", "bad": "31;1", "warning": "33", "heading": "1", "faint": "2"}
_STRONG, _NOT_STRONG = "\x1b[7m", "\x1b[27m"
_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")
_OFF = {"", "0"}


class Paint(NamedTuple):
    colour: bool = False

    def __call__(self, role: str, text: str) -> str:
        return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if self.colour and text else text

    def strong(self, text: str) -> str:
        """Stands out inside text of any role."""
        return f"{_STRONG}{text}{_NOT_STRONG}" if self.colour and text else text


def paint_for(environ: Mapping[str, str], *, on_terminal: bool) -> Paint:
    """NO_COLOR says no, CLICOLOR_FORCE says also where no terminal is, CLICOLOR=0 says not on a terminal."""
    if environ.get("NO_COLOR"):
        return Paint(colour=False)
    if environ.get("CLICOLOR_FORCE", "") not in _OFF:
        return Paint(colour=True)
    wanted = environ.get("CLICOLOR") != "0" and environ.get("TERM", "") not in {"", "dumb"}
    return Paint(on_terminal and wanted)


def columns_shown(line: str) -> int:
    """How wide a painted line is on a terminal."""
    return columns(_SEQUENCE.sub("", line) if "\x1b" in line else line)


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
