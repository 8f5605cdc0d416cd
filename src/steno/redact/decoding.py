"""What bytes say once they are decoded: without sequences, backslashes, percent escapes and line prefixes.

In: bytes. Out: `Views`, each a text and the way back from its positions to those of the bytes. Never: a
judgement on secrets. A view is made only where there is something to decode, and of the lines that hold it.
An escape that the bytes do not end is left out, so the view of what came so far is always the beginning of
the view of what will have come.

JSON strings and Python's repr are decoded alike: every level of strings takes one level of backslashes away.
Each level halves a run of backslashes, so there are few levels. Mixed encodings could ask for more than
`VIEWS_MOST` views; the lines that lie deeper are told by `unread`, to be masked whole.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from steno.redact.lines import extents
from steno.redact.rule import compile_rule
from steno.redact.sequences import ANY_SEQUENCE, ESCAPE, strip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

VIEWS_MOST = 24

_HEX = rb"[0-9A-Fa-f]"
_HIGH = rb"u[dD][89abAB]" + _HEX + rb"{2}"
_LOW = rb"u[dD][c-fC-F]" + _HEX + rb"{2}"
_UNFINISHED = (
    rb"(?P<unfinished>(?:" + _HIGH + rb"(?:\\(?:u(?:[dD](?:[c-fC-F]" + _HEX + rb"?)?)?)?)?"
    rb"|u" + _HEX + rb"{0,3}|x" + _HEX + rb"?)?\Z)"
)
_ESCAPED = re.compile(
    rb"\\(?:[\"'\\/bfnrt]|%s|%s\\%s|u%s{4}|x%s{2})" % (_UNFINISHED, _HIGH, _LOW, _HEX, _HEX)
)
_TO_LINE_END = re.compile(rb"\\(?:[\"'\\/bfnrtux]|\Z)[^\n]*\n?")
_CODED = re.compile(rb"(\\(?:%s\\%s|u%s{4}|x%s{2}))" % (_HIGH, _LOW, _HEX, _HEX))
_CUT = re.compile(rb"\\" + _UNFINISHED)
_LONGEST_ESCAPE = 12
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_SIMPLE = [(b"\\" + letter, _LETTERS.get(letter, letter)) for letter in (b'"', b"'", b"/", *_LETTERS)]
_PERCENT = re.compile(rb"%%(?:%s{2}|%s?\Z)" % (_HEX, _HEX))
_ANY_PERCENT = compile_rule(rb"%%(?:%s{2}|%s?\z)" % (_HEX, _HEX))
_PERCENT_TWICE = re.compile(rb"%%(?:25)*(?:%s{2}|%s?\Z)" % (_HEX, _HEX))
_IS_TWICE = re.compile(rb"%%25%s" % _HEX)
# `+`, `-`, `<`, `>` of diffs and quotations, the number of `cat -n` and of editors, the place of `grep`.
_PREFIX = re.compile(
    rb"^(?:[ \t]*[0-9]{1,9}(?:\xe2\x86\x92|\t|[:|-] ?)|[^\s:\"'=]{1,200}:[0-9]{1,9}:"
    rb"|[^\s:\"'=/.]{0,100}[/.][^\s:\"'=]{0,200}:|[+<>|-] ?){1,3}",
    re.MULTILINE,
)
_ANY_PREFIX = compile_rule(rb"(?m)^(?:[ \t]*[0-9]+[\xe2\t:|-]|[^\s:\"'=]+:|[+<>|-])")  # wherever the other is


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


class Views:
    """All that a view says when it is decoded; the view itself is not among them."""

    def __init__(self, whole: View) -> None:
        self._whole = whole
        self.unread: list[tuple[int, int]] = []

    def __iter__(self) -> Iterator[View]:
        if not can_be_decoded(self._whole.text):
            return
        pending = list(_decoded(self._whole))
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
            pending.extend(_decoded(view))


def _backslashed(text: bytes) -> list[tuple[int, int]]:
    """Where the lines are that hold an escape, perhaps an unfinished one."""
    rfind = text.rfind
    return [
        (rfind(b"\n", 0, start) + 1, end) for start, end in [m.span() for m in _TO_LINE_END.finditer(text)]
    ]


def _decoded(view: View) -> Iterator[View]:
    """The next views, each of which takes one kind of encoding away."""
    text = view.text
    if ESCAPE in text:
        yield View(strip(text), view, lambda: ((*match.span(), 0) for match in ANY_SEQUENCE.finditer(text)))
    if b"\\" in text and (lines := lines_at(_backslashed(text), view)) is not None:
        yield _replaced(lines, _ESCAPED, _unescaped, _without_backslashes(lines.text))
    if b"%" in text and (lines := lines_at(extents(_ANY_PERCENT, text), view)) is not None:
        yield _replaced(lines, _PERCENT, _byte)
        if _IS_TWICE.search(lines.text) is not None:
            yield _replaced(lines, _PERCENT_TWICE, _byte)


def without_prefixes(view: View) -> View | None:
    """The lines that have a prefix, without it."""
    likely = lines_with(_ANY_PREFIX, view)
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
