"""What bytes say once they are decoded: without sequences, backslashes, percent escapes and line prefixes.

A view is a text and the way back from its positions to those of the bytes. One is made only where there is
something to decode, and of the lines that hold it. An escape that the bytes do not end is left out, so the
view of what came so far is always the beginning of the view of what will have come.

JSON strings and Python's repr are decoded alike: every level of strings takes one level of backslashes away.
Each level halves a run of backslashes, so there are few levels. Mixed encodings could ask for more than
`VIEWS_MOST` views; the lines that lie deeper are told by `unread`, to be masked whole.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from steno.redact.rule import compile_rule, regex
from steno.redact.shapes import OPENS_NEXT_LINE
from steno.redact.text import ANY_SEQUENCE, ESCAPE, extents, run_end, strip_sequences
from steno.redact.vocabulary import WORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

VIEWS_MOST = 24
LITERAL_MOST = 1024  # the longest known value
AROUND = LITERAL_MOST + 64  # where an escape changes what a name, a rule or a known value says
RUN_MOST = 64  # of backslashes before a letter
BEGINNING = 512  # of a long line, where a prefix may be
CUT_MOST = 256  # how far a place to cut may be

_HEX = rb"[0-9A-Fa-f]"
_HIGH = rb"u[dD][89abAB]" + _HEX + rb"{2}"
_LOW = rb"u[dD][c-fC-F]" + _HEX + rb"{2}"
_UNFINISHED = (
    rb"(?P<unfinished>(?:" + _HIGH + rb"(?:\\(?:u(?:[dD](?:[c-fC-F]" + _HEX + rb"?)?)?)?)?"
    rb"|u" + _HEX + rb"{0,3}|x" + _HEX + rb"?)?\Z)"
)
_ESCAPED = regex(rb"\\(?:[\"'\\/bfnrt]|%s|%s\\%s|u%s{4}|x%s{2})" % (_UNFINISHED, _HIGH, _LOW, _HEX, _HEX))
_TO_LINE_END = regex(rb"\\(?:[\"'\\/bfnrtux]|\Z)[^\n]*\n?")
_ANY_BACKSLASHED = compile_rule(rb"\\(?:[\"'\\/bfnrtux]|\z)")
_BETWEEN = (b";", b",", b"}")  # never a part of an escape
_BLANKS = frozenset((b" ", b"\t", b"\n", b"\r"))
_NONBLANK = regex(rb"[^\s]*")
_CODED = regex(rb"(\\(?:%s\\%s|u%s{4}|x%s{2}))" % (_HIGH, _LOW, _HEX, _HEX))
_CUT = regex(rb"\\" + _UNFINISHED)
_LONGEST_ESCAPE = 12
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_SIMPLE = [(b"\\" + letter, _LETTERS.get(letter, letter)) for letter in (b'"', b"'", b"/", *_LETTERS)]
_PERCENT = regex(rb"%%(?:%s{2}|%s?\Z)" % (_HEX, _HEX))
_ANY_PERCENT = compile_rule(rb"%%(?:%s{2}|%s?\z)" % (_HEX, _HEX))
_PERCENT_TWICE = regex(rb"%%(?:25)*(?:%s{2}|%s?\Z)" % (_HEX, _HEX))
_IS_TWICE = regex(rb"%%25%s" % _HEX)
# `+`, `-`, `<`, `>` of diffs and quotations, the number of `cat -n` and of editors, the place of `grep`.
_PREFIX = regex(
    rb"^(?:[ \t]*[0-9]{1,9}(?:\xe2\x86\x92|\t|[:|-] ?)|[^\s:\"'=]{1,200}:[0-9]{1,9}:"
    rb"|[^\s:\"'=/.]{0,100}[/.][^\s:\"'=]{0,200}:|[+<>|-] ?){1,3}",
    re.MULTILINE,
)
# Wherever the other is and something depends on it: before a name, or where the value is on the next line.
_TELLING_PREFIX = compile_rule(
    rb"(?m)^(?:[ \t]*[0-9]+(?:\xe2\x86\x92|[\t:|-] ?)|[^\s:\"'=]+:|[+<>|-] ?)+"
    rb"(?:[ \t+>\"'-]*(?:(?:export|set|declare|set -x)[ \t\"']+)?[A-Za-z0-9_-]*?"
    + WORD
    + rb"|[^\n]*"
    + OPENS_NEXT_LINE
    + rb"[ \t]*\r?$)"
)


class View:
    """A text, and where each of its bytes stands in the text that it was made of."""

    __slots__ = ("_ends", "_find", "_parent", "_places", "_starts", "text")

    def __init__(
        self,
        text: bytes,
        parent: View | None = None,
        find: Callable[[], Iterable[tuple[int, int, int]]] = tuple,
    ) -> None:
        self.text = text
        self._parent = parent
        self._find = find
        self._places: list[int] = []

    @property
    def is_original(self) -> bool:
        return self._parent is None

    def start(self, position: int) -> int:
        """Where the original of the byte at this position begins."""
        if self._parent is None:
            return position
        return self._parent.start(self._original(position)[0])

    def end(self, position: int) -> int:
        """Where the original of the byte before this position ends."""
        if self._parent is None or position == 0:
            return position
        return self._parent.end(self._original(position - 1)[1])

    def _original(self, position: int) -> tuple[int, int]:
        """What the byte at this position was made of: one byte that was copied, or a whole escape."""
        if not self._places:
            self._map()
        piece = bisect_right(self._places, position) - 1
        start, end = self._starts[piece], self._ends[piece]
        if end < 0:
            start += position - self._places[piece]
            return start, start + 1
        return start, end

    def _map(self) -> None:
        """Pieces that were copied (they have no end), and escapes between them."""
        self._places, self._starts, self._ends = [0], [0], [-1]
        shift = 0
        for start, end, length in self._find():
            if length:
                self._add(start - shift, start, end)
            self._add(start - shift + length, end, -1)
            shift += end - start - length

    def _add(self, place: int, start: int, end: int) -> None:
        if self._places[-1] == place:
            self._starts[-1], self._ends[-1] = start, end
        else:
            self._places.append(place)
            self._starts.append(start)
            self._ends.append(end)


def can_be_decoded(data: bytes) -> bool:
    return b"\\" in data or b"%" in data or ESCAPE in data


def says_what_it_is(data: bytes) -> bool:
    """Whether there is no view of it: nothing in it stands for something else, or for nothing."""
    return (
        ESCAPE not in data
        and (b"\\" not in data or _ANY_BACKSLASHED.search(data) is None)
        and (b"%" not in data or _ANY_PERCENT.search(data) is None)
    )


class Hints(NamedTuple):
    """What is found wherever something may be read, encoded or not, and how far an escape matters to it."""

    pattern: Any
    reach: int = AROUND


class Views:
    """All that a view says when it is decoded; the view itself is not among them.

    With `hints` only what is near one is decoded. `gaps` are the parts of long lines that were left out: a
    value that reaches one asks for views of `whole_lines`.
    """

    def __init__(self, whole: View, hints: Hints | None = None, *, whole_lines: bool = False) -> None:
        self._whole = whole
        self._hints = hints
        self._whole_lines = whole_lines
        self.gaps: list[tuple[int, int]] = []
        self.unread: list[tuple[int, int]] = []

    def __iter__(self) -> Iterator[View]:
        if not can_be_decoded(self._whole.text):
            return
        pending = list(self._decoded(self._whole))
        seen = {self._whole.text}
        read = 0
        while pending:
            view = pending.pop(0)
            if view.text in seen:
                continue
            if read == VIEWS_MOST:
                self.unread.append((view.start(0), view.end(len(view.text))))
                continue
            seen.add(view.text)
            read += 1
            yield view
            pending.extend(self._decoded(view))

    def _decoded(self, view: View) -> Iterator[View]:
        """The next views, each of which takes one kind of encoding away."""
        text = view.text
        if ESCAPE in text:
            yield View(
                strip_sequences(text),
                view,
                lambda: ((*match.span(), 0) for match in ANY_SEQUENCE.finditer(text)),
            )
        if b"\\" not in text and b"%" not in text:
            return
        if self._hints is None:
            slashed, coded = _backslashed(text), extents(_ANY_PERCENT, text)
        else:
            worth = _Worth(text, self._hints, whole_lines=self._whole_lines)
            slashed, coded = worth.slashed, worth.coded
            self.gaps.extend((view.start(start), view.end(end)) for start, end in worth.gaps)
        if (lines := lines_at(slashed, view)) is not None:
            yield _replaced(lines, _ESCAPED, _unescaped, _without_backslashes(lines.text))
        if (lines := lines_at(coded, view)) is not None:
            yield _replaced(lines, _PERCENT, _byte)
            if _IS_TWICE.search(lines.text) is not None:
                yield _replaced(lines, _PERCENT_TWICE, _byte)


def _backslashed(text: bytes) -> list[tuple[int, int]]:
    """Where the lines are that hold an escape, perhaps an unfinished one."""
    rfind = text.rfind
    return [
        (rfind(b"\n", 0, start) + 1, end) for start, end in [m.span() for m in _TO_LINE_END.finditer(text)]
    ]


class _Worth:
    """Which parts of a text are worth decoding: the lines that have an escape near a hint.

    Inside a string a line ends at an escaped line break; the next line is taken along, because it may hold
    the value. Of a long line, as minified code has them, only its beginning and what is around the hints are
    taken; `gaps` are the parts between. A percent escape says nothing of backslashes, so it asks for the
    line as it is.
    """

    def __init__(self, text: bytes, hints: Hints, *, whole_lines: bool) -> None:
        self._text = text
        self._reach = hints.reach
        self._long = len(text) if whole_lines else 4 * hints.reach
        self._slash = self._percent = -1
        self._run = (0, -1)
        self._line = (0, 0)  # the long line that is read
        self.slashed: list[tuple[int, int]] = []
        self.coded: list[tuple[int, int]] = []
        self.gaps: list[tuple[int, int]] = []
        position = 0
        while (match := hints.pattern.search(text, position)) is not None:
            begin, stop = match.span()
            position = self._look_around(begin, stop)
        self._leave_line()

    def _look_around(self, begin: int, stop: int) -> int:
        """Take what is near a hint; return where to look for the next one."""
        text = self._text
        low = max(0, begin - self._reach)
        low = text.rfind(b"\n", low, begin) + 1 or low
        if self._slash < low:
            self._slash = _found(_ANY_BACKSLASHED, text, low)
        if self._percent < low:
            self._percent = _found(_ANY_PERCENT, text, low)
        position = max(stop, begin + 1)
        if self._slash == self._percent == len(text):
            return position
        high = self._end(begin, stop)
        if self._percent < high and (not self.coded or begin >= self.coded[-1][1]):
            end = text.find(b"\n", max(begin, stop - 1)) + 1 or len(text)
            _add(self.coded, text.rfind(b"\n", 0, begin) + 1, text.find(b"\n", end) + 1 or len(text))
        return max(position, self._take(begin, stop, high)) if self._slash < high else position

    def _end(self, begin: int, stop: int) -> int:
        """How far an escape is near: to the end of the line, or of a value without a blank."""
        text = self._text
        high = min(stop + self._reach, len(text))
        line_end = text.find(b"\n", max(begin, stop - 1), high)
        if line_end >= 0:
            return line_end
        if not self._run[0] <= high <= self._run[1]:
            self._run = (high, run_end(_NONBLANK, text, high))
        return self._run[1]

    def _take(self, begin: int, stop: int, high: int) -> int:
        text = self._text
        last = max(begin, stop - 1)
        if not (self._line[0] <= begin and last < self._line[1]):
            self._leave_line()
            start, end = _line_start(text, begin), _line_end(text, last)
            if end - start <= self._long:
                _add(self.slashed, start, end)
                self._enter_line(end)
                return end
            self._line = (start, end)
            _add(self.slashed, start, _cut_after(text, start + BEGINNING, end))
        start, end = self._line
        kept, before = self.slashed[-1][1], _cut_before(text, begin - self._reach, start)
        if before > kept:
            self.gaps.append((kept, before))
        _add(self.slashed, before, _cut_after(text, high, end))
        return 0

    def _enter_line(self, start: int) -> None:
        """Take the line along that follows, or its beginning."""
        end = _line_end(self._text, start)
        if end - start > self._long:
            self._line = (start, end)
            end = _cut_after(self._text, start + BEGINNING, end)
        if end > start:
            _add(self.slashed, start, end)

    def _leave_line(self) -> None:
        """A long line keeps its line break."""
        end = self._line[1]
        if self.slashed and (kept := self.slashed[-1][1]) < end:
            last = self._text[max(kept, end - 2) : end]
            ending = 1 if last.endswith(b"\n") else 2 if last == b"\\n" else 0
            self.gaps.append((kept, end - ending))
            if ending:
                _add(self.slashed, end - ending, end)
        self._line = (0, 0)


def _found(pattern: Any, text: bytes, position: int) -> int:
    match = pattern.search(text, position)
    return len(text) if match is None else match.start()


def _cut_before(text: bytes, position: int, floor: int) -> int:
    """A place to cut, not inside an escape; the floor where none is near."""
    if position <= floor:
        return floor
    return max(text.rfind(sign, max(floor, position - CUT_MOST), position) for sign in _BETWEEN) + 1 or floor


def _cut_after(text: bytes, position: int, ceiling: int) -> int:
    if position >= ceiling:
        return ceiling
    places = (text.find(sign, position, min(position + CUT_MOST, ceiling)) for sign in _BETWEEN)
    return min((place for place in places if place >= 0), default=ceiling - 1) + 1


def _add(stretches: list[tuple[int, int]], start: int, end: int) -> None:
    if stretches and start <= stretches[-1][1]:
        begin, last = stretches.pop()
        start, end = min(begin, start), max(end, last)
    stretches.append((start, end))


def _line_start(text: bytes, position: int) -> int:
    """Behind the last line break, be it escaped."""
    floor = text.rfind(b"\n", 0, position) + 1
    place = text.rfind(b"\\n", floor, position)
    while place >= 0 and not _is_escape(text, place):
        place = text.rfind(b"\\n", floor, place)
    return floor if place < 0 else place + 2


def _line_end(text: bytes, position: int) -> int:
    """Behind the next line break, be it escaped."""
    ceiling = text.find(b"\n", position) + 1 or len(text)
    place = text.find(b"\\n", position, ceiling)
    while place >= 0 and not _is_escape(text, place):
        place = text.find(b"\\n", place + 2, ceiling)
    return ceiling if place < 0 else place + 2


def _is_escape(text: bytes, place: int) -> bool:
    """Whether the backslash here is the last of an odd number; of very many one cannot tell."""
    run = text[max(0, place - RUN_MOST) : place + 1]
    length = len(run) - len(run.rstrip(b"\\"))
    return length % 2 == 1 and length <= RUN_MOST


def last_lines(view: View) -> View:
    """The last line and the one before it, in every view of backslashes; all of it where other views are."""
    text = view.text
    if ESCAPE in text or _ANY_PERCENT.search(text) is not None:
        return view
    start = _line_start(text, len(text))
    start = _line_start(text, max(0, start - (1 if text[start - 1 : start] == b"\n" else 2)))
    return lines_at([(start, len(text))], view) or view


def unescaped(data: bytes, start: int, end: int) -> View:
    """What a string says that stands here, without its quotes."""
    whole = View(data)
    return _replaced(lines_at([(start, end)], whole) or whole, _ESCAPED, _unescaped)


def without_prefixes(view: View) -> View | None:
    """The lines that have a prefix, without it."""
    likely = lines_with(_TELLING_PREFIX, view)
    lines = None if likely is None else lines_with(_PREFIX, likely)
    return None if lines is None else _replaced(lines, _PREFIX, _nothing)


def lines_with(pattern: Any, view: View) -> View | None:
    """The lines in which the pattern is found."""
    return lines_at(extents(pattern, view.text), view)


def lines_at(stretches: list[tuple[int, int]], view: View) -> View | None:
    """The lines in these places; None when there are none."""
    text = view.text
    if not stretches:
        return None
    if stretches == [(0, len(text))]:
        return view

    def left_out() -> Iterable[tuple[int, int, int]]:
        return ((0, stretches[0][0], 0), *((a[1], b[0], 0) for a, b in itertools.pairwise(stretches)))

    return View(b"".join([text[start:end] for start, end in stretches]), view, left_out)


def _replaced(
    view: View,
    pattern: re.Pattern[bytes],
    replacement: Callable[[re.Match[bytes]], bytes],
    result: bytes | None = None,
) -> View:
    text = view.text
    return View(
        pattern.sub(replacement, text) if result is None else result,
        view,
        lambda: ((*match.span(), len(replacement(match))) for match in pattern.finditer(text)),
    )


def _without_backslashes(text: bytes) -> bytes | None:
    """The same as the pattern gives, many times faster; None where the end of the text may cut an escape."""
    if b"\0" in text or _CUT.search(text[-_LONGEST_ESCAPE:]) is not None:
        return None
    text = text.replace(b"\\\\", b"\0")
    if b"\\u" not in text and b"\\x" not in text:
        return _simply(text)
    pieces = _CODED.split(text)
    pieces[::2] = [_simply(piece) for piece in pieces[::2]]
    pieces[1::2] = [_coded(escape) for escape in pieces[1::2]]
    return b"".join(pieces)


def _simply(text: bytes) -> bytes:
    for escape, letter in _SIMPLE:
        text = text.replace(escape, letter)
    return text.replace(b"\0", b"\\")


def _coded(escape: bytes) -> bytes:
    if escape[1:2] == b"x":
        return bytes.fromhex(escape[2:].decode())
    units = b"".join(bytes.fromhex(unit.decode()) for unit in escape.split(b"\\u")[1:])
    return units.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    if match["unfinished"] is not None:
        return b""
    letter = escape[1:2]
    return _coded(escape) if letter in {b"u", b"x"} else _LETTERS.get(letter, letter)


def _byte(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    return bytes((int(escape[-2:], 16),)) if len(escape) >= 3 else b""  # noqa: PLR2004 - `%ff`


def _nothing(_match: re.Match[bytes]) -> bytes:
    return b""
