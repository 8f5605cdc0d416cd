"""Where the string ends in which a value stands, as JSON and Python write strings.

What follows a value is cut off: the rest of the string's lines, the quote that closes it, half an escape. A
string is one only where it stands between signs of JSON, on a line that was read from its start and holds
nothing else up to there; of anything else the value is left as it is. What a string says is read in the same
way, so a string in a string ends there, too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from steno.redact.decoding import View, unescaped
from steno.redact.rule import regex

_QUOTES = b"\"'"
_OPENERS = frozenset((b"", b"{", b"[", b"(", b",", b":", b"="))
_FOLLOWERS = frozenset((b"", b"}", b"]", b")", b",", b":", b";"))
_TO_QUOTE = regex(rb"[^\"']*+")
_ONLY_PREFIX = regex(rb"[\s+<>|:0-9\xe2\x86\x92-]*+\Z")
_STRING = regex(rb"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'")
_BETWEEN = regex(rb"(?:[\s{}\[\](),:;=0-9.eE+-]|true|false|null|None|True|False)*+")
_BREAK = regex(rb"\\[nr]")
_HALF_CODED = regex(rb"\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)\Z")
_LONGEST_ESCAPE = 6
DEPTH_MOST = 8


class _Line(NamedTuple):
    """The strings of a line, without their quotes; from `undecided` on one cannot tell yet."""

    strings: list[tuple[int, int]]
    undecided: int


class Strings:
    """The strings that stand in some lines."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._lines: dict[int, _Line] = {}
        self._contents: dict[tuple[int, int], tuple[View, Strings]] = {}

    def fitted(self, anchor: int, start: int, end: int, *, lines: bool, depth: int = 0) -> tuple[int, int]:
        """The place of a value whose name, or what else tells of it, begins at `anchor`.

        A value of several `lines` ends where the string ends, any other at the first line break.
        """
        string = self._string_at(start)
        if string is None or depth == DEPTH_MOST:
            return start, end
        begin, close = string
        end = min(end, close)
        if anchor >= begin:
            line_begin, line_end = self._line_in(begin, close, start)
            if not lines:
                end = min(end, line_end)
            if line_begin < line_end and b"\\" in self._data[line_begin:line_end]:
                end = self._fitted_inside(
                    (begin, close) if lines else (line_begin, line_end), anchor, start, end, lines, depth
                )
        return self._without_halves(begin, start, end, close)

    def is_inside(self, position: int) -> bool:
        """Whether the position is in a string that ends."""
        return self._string_at(position) is not None

    def is_undecided(self, position: int) -> bool:
        """Whether what will come decides where the string here ends."""
        return position >= self._line_at(position).undecided

    def _fitted_inside(
        self, content: tuple[int, int], anchor: int, start: int, end: int, lines: bool, depth: int
    ) -> int:
        if content not in self._contents:
            view = unescaped(self._data, *content)
            self._contents[content] = view, Strings(view.text)
        view, strings = self._contents[content]
        places = range(len(view.text))
        inner = [bisect_left(places, place, key=view.start) for place in (anchor, start, end)]
        if anchor < content[0]:
            inner[0] = -1
        if inner[1] >= inner[2]:
            return end
        _, last = strings.fitted(*inner, lines=lines, depth=depth + 1)
        return end if last == inner[2] else max(start, view.end(last))

    def _string_at(self, position: int) -> tuple[int, int] | None:
        for begin, end in self._line_at(position).strings:
            if begin <= position <= end:
                return begin, end
        return None

    def _line_in(self, begin: int, close: int, position: int) -> tuple[int, int]:
        """The line of a string that the position is in, between escaped line breaks."""
        start, end = begin, close
        for match in _BREAK.finditer(self._data, begin, close):
            if self._slashes(begin, match.start()) % 2:
                continue
            if match.start() >= position:
                end = match.start()
                break
            start = match.end()
        return start, end

    def _without_halves(self, begin: int, start: int, end: int, close: int) -> tuple[int, int]:
        """The backslash before what ends a value is not the value's; half a letter is made whole."""
        if start > begin and self._slashes(begin, start) % 2:
            start -= 1
        if end < close and self._slashes(start, end) % 2:
            end -= 1
        half = _HALF_CODED.search(self._data, max(start, end - _LONGEST_ESCAPE), end)
        if half is not None and self._slashes(begin, half.start()) % 2 == 0:
            end = min(half.start() + (6 if self._data[half.start() + 1] == ord("u") else 4), close)
        return start, max(start, end)

    def _slashes(self, floor: int, position: int) -> int:
        """How many backslashes stand before the position."""
        place = position
        while place > floor and self._data[place - 1] == ord("\\"):
            place -= 1
        return position - place

    def _line_at(self, position: int) -> _Line:
        begin = self._data.rfind(b"\n", 0, position) + 1
        if begin not in self._lines:
            end = self._data.find(b"\n", position)
            self._lines[begin] = self._read(begin, len(self._data) if end < 0 else end)
        return self._lines[begin]

    def _read(self, begin: int, end: int) -> _Line:
        data = self._data
        is_ended = end < len(data)
        strings: list[tuple[int, int]] = []
        position = _end(_TO_QUOTE, data, begin, end)
        before = data[begin:position]
        if before.rstrip()[-1:] not in _OPENERS and _ONLY_PREFIX.match(before) is None:
            return _Line(strings, len(data) + 1)
        while position < end and data[position] in _QUOTES:
            match = _STRING.match(data, position, end)
            if match is None:
                return _Line(strings, len(data) + 1 if is_ended else position)
            stop = match.end()
            following = _end(_BETWEEN, data, stop, end)
            between = data[stop:following].strip()
            if not between and following == end and not is_ended:
                strings.append((position + 1, stop - 1))
                return _Line(strings, position)
            if (between[:1] or data[following : following + 1].strip()) not in _FOLLOWERS:
                break
            strings.append((position + 1, stop - 1))
            position = following
            if between[-1:] not in _OPENERS:
                break
        return _Line(strings, len(data) + 1)


def _end(pattern: re.Pattern[bytes], data: bytes, begin: int, end: int) -> int:
    match = pattern.match(data, begin, end)
    return begin if match is None else match.end()
