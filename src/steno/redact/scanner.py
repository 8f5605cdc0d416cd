"""One look at some lines: where are the secrets, and where may one begin that is not yet complete?

The same bytes give the same answer. Spans are sought until masking them leaves nothing to find, so that
looking at masked bytes again finds nothing.

The rules run on the bytes and on every view of them (`steno.redact.decoding`), so that neither a colour nor
an escape inside or beside a secret hides it. A span of a view covers what its bytes were made of.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import re2

from steno.redact.assigned_value import JUDGED
from steno.redact.assignments import HINT, PREFILTER, read
from steno.redact.decoding import (
    AROUND,
    LITERAL_MOST,
    Hints,
    View,
    Views,
    can_be_decoded,
    last_lines,
    lines_at,
    says_what_it_is,
    without_prefixes,
)
from steno.redact.rule import Rule, compile_rule, compile_set, regex
from steno.redact.shapes import SHAPES
from steno.redact.strings import Strings
from steno.redact.text import ESCAPE, extents, mask_around_sequences, opens_next_line
from steno.redact.tokens import TOKENS
from steno.redact.vocabulary import is_masked, is_path, is_prose, is_reference, is_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LITERAL_LEAST = 8
ENCODED_MOST = 8  # bytes of an escape
KNOWN_VALUE = "known-value"
DEEPLY_NESTED = "deeply-nested"
ROUNDS = 6
MASK = b"*"
_SHELL_USERS = frozenset((b"git", b"hg", b"svn"))
_SHELL_SCHEMES = (b"ssh://", b"sftp://", b"git+ssh://", b"svn+ssh://", b"rsync://")


class Span(NamedTuple):
    start: int
    end: int
    rule: str


_NUMBER = regex(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_NAMED = regex(rb"(\\*\")[ \t]*:[ \t]*\Z")
NEAR = 64


class _Place(NamedTuple):
    """A view, and the strings of the bytes that it was made of."""

    view: View
    strings: Strings | None

    def fitted(self, data: bytes, offset: int, anchor: int, start: int, end: int, rule: str) -> Span | None:
        """The value, cut where the string ends that it stands in; None when that leaves nothing secret."""
        span = Span(start, end, rule)
        view, begin, stop = self.view, start + offset, end + offset
        if self.strings is None:
            return span
        place = (view.start(begin), view.end(stop))
        first, last = self.strings.fitted(view.start(anchor + offset), *place, lines=rule in OF_LINES)
        if (first, last) == place:
            return span
        start = bisect_right(range(begin + 1), first, key=view.start) - 1 - offset
        end = bisect_right(range(stop + 1), last, lo=begin, key=view.end) - 1 - offset
        value = data[start:end]
        if end <= start or is_masked(value) or is_reference(value):
            return None
        return Span(start, end, rule)


class _Shape:
    """Compiled when it is first sought: most runs have next to none of them, and all are many."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    @cached_property
    def whole(self) -> Any:
        return compile_rule(self.rule.pattern)

    @cached_property
    def head(self) -> Any:
        return compile_rule(self.rule.head)


OF_LINES = frozenset(("private-key-line",))
ON_NEXT_LINE = frozenset(("xml-lines", "yaml-block", "name-and-value"))


def _is_on_next_line(data: bytes, view: View, start: int) -> bool:
    """A view may join lines that are apart, or read what the line does not say; both depend on the cuts."""
    line_break = view.text.rfind(b"\n", 0, start)
    if line_break < 0:
        return True
    before, place = view.end(line_break), view.start(start)
    breaks = data.count(b"\n", before, place)
    if breaks > 1 or b"\\n" in data[view.end(line_break + 1) : place]:
        return False
    return not breaks or opens_next_line(data, data.rfind(b"\n", 0, before) + 1, data.find(b"\n", before) + 1)


_SHAPES = tuple(map(_Shape, SHAPES))
_SHAPE_TRIGGERS = b"|".join(b"(?:" + rule.prefilter + b")" for rule in SHAPES)
_ANY_SHAPE = compile_rule(_SHAPE_TRIGGERS)
_ANY = _SHAPE_TRIGGERS + b"|" + PREFILTER
_SHAPE_SET = compile_set([b"(?m)" + rule.prefilter for rule in SHAPES])
# What tells of a rule or a name also where escapes are in between, and an escape that may hide a letter of
# it: lines without any of them are not worth decoding.
_HIDING = (
    rb"\\u00(?:[4-7][0-9A-Fa-f]|25|1[bB])|\\x(?:[4-7][0-9A-Fa-f]|25|1[bB])|%(?:[4-7][0-9A-Fa-f]|25|1[bB])"
)
_HINTS = b"|".join((*dict.fromkeys(rule.hint or rule.before for rule in SHAPES), HINT, _HIDING, ESCAPE))
# Of tokens and names the hint is found wherever the plain form is; of the others both are needed.
_PLAIN = b"|".join(b"(?:" + rule.prefilter + b")" for rule in SHAPES if rule not in TOKENS)
_LETTERS = regex(rb"[A-Za-z0-9]{3,}")
_ANY_HEAD = compile_rule(b"|".join(b"(?:%s)(?:%s)\\z" % (rule.before, rule.partial) for rule in SHAPES))


def merged(spans: list[Span]) -> list[Span]:
    """Sort; spans that overlap become one, named after the first of them."""
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start < result[-1].end:
            last = result[-1]
            result[-1] = Span(last.start, max(last.end, span.end), last.rule)
        else:
            result.append(span)
    return result


def masked(data: bytes, spans: list[Span]) -> bytes:
    """Equal length; every byte of a span becomes an asterisk, line breaks and escape sequences stay."""
    pieces: list[bytes] = []
    position = 0
    for start, end, _ in spans:
        pieces.append(data[position:start])
        secret = data[start:end]
        if (
            secret[-1:].isdigit()
            and _NUMBER.match(secret)
            and (named := _NAMED.search(data, max(0, start - NEAR), start))
        ):
            pieces.append(_quoted(named[1], end - start))
        elif b"\n" in secret or b"\r" in secret or ESCAPE in secret:
            pieces.append(mask_around_sequences(secret))
        else:
            pieces.append(MASK * (end - start))
        position = end
    pieces.append(data[position:])
    return b"".join(pieces)


def _quoted(quote: bytes, length: int) -> bytes:
    """A number after a quoted name becomes a string, so that what was JSON stays JSON."""
    if length <= 2 * len(quote):
        return MASK * length
    return quote + MASK * (length - 2 * len(quote)) + quote


class Scanner:
    """The rules, and the exact values that are known to be secret."""

    def __init__(self) -> None:
        self._literals: list[bytes] = []
        self._compile()

    def learn(self, value: bytes) -> None:
        """Add an exact value. It is cut at line breaks, because bytes are looked at line by line."""
        fresh = [piece for piece in _pieces(value) if piece not in self._literals]
        if fresh:
            self._literals.extend(fresh)
            self._compile()

    def _compile(self) -> None:
        known = [re2.escape(literal) for literal in self._literals]
        letters = [max(_LETTERS.findall(literal), key=len, default=b"") for literal in self._literals]
        self._any = compile_rule(b"(?m)" + b"|".join((_ANY, *known)))
        hints = (_HINTS, *letters)
        self._hints = None
        if all(letters):
            longest = max((len(literal) for literal in self._literals), default=0)
            pattern = compile_rule(b"(?m)" + b"|".join((_PLAIN, *known, *hints)))
            self._hints = Hints(pattern, max(AROUND, ENCODED_MOST * longest))

    def is_clean(self, data: bytes) -> bool:
        if self._any.search(data) is None and says_what_it_is(data):
            return True  # as most are: two looks at the whole cost less than one for every line
        whole = self._lines(data)
        if whole is None:
            return True
        if self._any.search(whole.text) is not None:
            return False
        if not can_be_decoded(whole.text):
            return True
        views = Views(whole, self._hints)
        return all(self._any.search(view.text) is None for view in views) and not views.unread

    def spans(self, data: bytes, *, inside_line: bool = False) -> list[Span]:
        """Of bytes from inside a line one cannot tell which strings they stand in."""

        def look(lines: bytes, _offset: int) -> tuple[list[Span], bool]:
            return self._spans_of_views(lines, None if inside_line else Strings(lines))

        return _repeated(look, data)

    def _lines(self, data: bytes) -> View | None:
        """The lines that may hold a secret, as they are or decoded: most of a text are none."""
        if self._hints is None:
            return View(data)
        stretches = extents(self._hints.pattern, data)
        return lines_at(stretches, View(data)) if stretches else None

    def _spans_of_views(self, data: bytes, strings: Strings | None) -> tuple[list[Span], bool]:
        """What the bytes and their views give, and whether it is the bytes alone that gave something."""
        whole = self._lines(data)
        if whole is None:
            return [], True
        plain, is_last = self._read(data, whole, strings)
        views = Views(whole, self._hints)
        decoded = self._read_all(data, views, strings)
        if any(span.start <= gap[1] and gap[0] <= span.end for gap in views.gaps for span in decoded):
            views = Views(whole, self._hints, whole_lines=True)
            decoded = self._read_all(data, views, strings)
        unread = [Span(start, end, DEEPLY_NESTED) for start, end in views.unread]
        return merged(plain + decoded + unread), is_last and not decoded and not unread

    def _read_all(self, data: bytes, views: Iterable[View], strings: Strings | None) -> list[Span]:
        return [span for view in views for span in self._read(data, view, strings)[0]]

    def _read(self, data: bytes, view: View, strings: Strings | None) -> tuple[list[Span], bool]:
        """What a view gives, and whether nothing came from its lines without their prefixes."""
        spans: list[Span] = []
        if self._any.search(view.text) is None:
            return spans, True
        is_last = True
        bare = without_prefixes(view)
        for shown in (view,) if bare is None else (view, bare):
            found = _repeated(partial(self._look, place=_Place(shown, strings)), shown.text)
            is_last = is_last and (not found or shown is view)
            spans.extend(
                Span(shown.start(start), shown.end(end), rule)
                for start, end, rule in found
                if rule not in ON_NEXT_LINE or _is_on_next_line(data, shown, start)
            )
        return spans, is_last

    def _look(self, data: bytes, offset: int, place: _Place) -> tuple[list[Span], bool]:
        """The spans, and whether masking them is certain to leave nothing to find."""
        reading = read(data)
        found = list(reading.spans)
        for start, end in extents(_ANY_SHAPE, data):
            found.extend(_spans_of_shapes(data, start, end))
        spans = [span for named in found if (span := place.fitted(data, offset, *named)) is not None]
        for literal in self._literals:
            spans.extend(_spans_of_literal(literal, data))
        # Masking a value can change the judgement on another only if one was refused or two rules met.
        is_last = not spans or (len(spans) == len(reading.spans) == len(found) and not reading.refused)
        return merged(spans), is_last

    def open_at(self, data: bytes, spans: list[Span]) -> int:
        """Where the first value begins that `data` may not end; the length of `data` when there is none.

        Masking the spans that are found may bring out another, as it does in `spans`.
        """
        first = self._open_in_views(data)
        return min(first, self._open_in_views(masked(data, spans))) if spans else first

    def _open_in_views(self, data: bytes) -> int:
        first = self._open_at(data)
        whole = View(data)
        for view in (whole, *Views(last_lines(whole))):
            for shown in (view, without_prefixes(view)):
                if shown is not None and shown is not whole:
                    position = self._open_at(shown.text)
                    first = min(first, shown.start(position) if position < len(shown.text) else first)
        return first

    def _open_at(self, data: bytes) -> int:
        ends = [len(data)]
        pair = read(data).open_at
        if pair is not None:
            ends.append(pair)
        if _ANY_HEAD.search(data) is not None:
            heads = (shape.head.search(data) for shape in _SHAPES)
            ends.extend(head.start(1) for head in heads if head is not None)
        ends.extend(len(data) - _overlap(data, literal) for literal in self._literals)
        return min(ends)


_start = itemgetter(0)


def _repeated(look: Callable[[bytes, int], tuple[list[Span], bool]], data: bytes) -> list[Span]:
    """Look until masking leaves nothing to find; lines where nothing was found need no second look."""
    spans, is_last = look(data, 0)
    if is_last or not spans:
        return spans
    settled: list[Span] = []
    first = 0
    for begin, end in _stretches(data, spans):
        last = bisect_left(spans, end, lo=first, key=_start)
        inside = [Span(start - begin, stop - begin, rule) for start, stop, rule in spans[first:last]]
        first = last
        for _ in range(ROUNDS - 1):
            found, is_last = look(masked(data[begin:end], inside), begin)
            more = merged(inside + found)
            if more == inside:
                break
            inside = more
            if is_last:
                break
        settled.extend(Span(begin + start, begin + stop, rule) for start, stop, rule in inside)
    return settled


def _stretches(data: bytes, spans: list[Span]) -> list[tuple[int, int]]:
    """The lines that the spans are in, as stretches that are apart."""
    stretches: list[tuple[int, int]] = []
    for start, stop, _ in spans:
        begin, end = data.rfind(b"\n", 0, start) + 1, data.find(b"\n", max(start, stop - 1)) + 1 or len(data)
        if stretches and begin < stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], end))
        else:
            stretches.append((begin, end))
    return stretches


def _spans_of_shapes(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, str]]:
    """Of some lines; the set tells which of the rules are worth a search."""
    lines = data[start:end]
    for place in _SHAPE_SET.Match(lines) or range(len(_SHAPES)):
        rule = _SHAPES[place].rule
        for match in _SHAPES[place].whole.finditer(lines):
            begin, stop = match.span(1)
            if _is_secret(rule, lines, begin, stop):
                yield start + match.start(), start + begin, start + stop, rule.name


def _is_secret(rule: Rule, data: bytes, start: int, end: int) -> bool:
    value = data[start : min(end, start + JUDGED)]
    if is_masked(value) and is_masked(data[start:end]):
        return False
    if is_reference(value):
        return False
    if rule.name in ON_NEXT_LINE and (is_prose(value) or is_sentence(value) or is_path(value)):
        return False
    if rule.needs_digit and not any(48 <= byte <= 57 for byte in value):  # noqa: PLR2004 - ASCII digits
        return False
    if rule.name == "url-userinfo" and b":" not in value:
        scheme = data[max(0, start - 12) : start].lower()
        return value not in _SHELL_USERS and not scheme.endswith(_SHELL_SCHEMES)
    return True


def _spans_of_literal(literal: bytes, data: bytes) -> list[Span]:
    spans: list[Span] = []
    position = data.find(literal)
    while position >= 0:
        spans.append(Span(position, position + len(literal), KNOWN_VALUE))
        position = data.find(literal, position + len(literal))
    return spans


def _overlap(data: bytes, literal: bytes) -> int:
    """How many bytes at the end of `data` are the beginning of `literal`."""
    for length in range(min(len(literal) - 1, len(data)), 0, -1):
        if data.endswith(literal[:length]):
            return length
    return 0


def _pieces(value: bytes) -> list[bytes]:
    lines = [line for line in value.replace(b"\r", b"\n").split(b"\n") if not line.startswith(b"-----")]
    pieces: list[bytes] = []
    for line in lines:
        if len(line) >= LITERAL_LEAST and not is_masked(line):
            pieces.extend(_cut(line))
    return pieces


def _cut(line: bytes) -> list[bytes]:
    pieces = [line[start : start + LITERAL_MOST] for start in range(0, len(line), LITERAL_MOST)]
    if len(pieces) > 1 and len(pieces[-1]) < LITERAL_LEAST:
        tail = pieces.pop()
        pieces[-1] += tail
    return pieces
