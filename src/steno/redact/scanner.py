"""One look at some lines: where are the secrets, and where may one begin that is not yet complete?

In: bytes that begin at the start of a line. Out: `spans`, sorted and apart from each other, and `open_at`.
Never: state; the same bytes give the same answer. Spans are sought until masking them leaves nothing to
find, so that looking at masked bytes again finds nothing.

The rules run on the bytes and on every view of them (`steno.redact.decoding`), so that neither a colour nor
an escape inside or beside a secret hides it. A span of a view covers what its bytes were made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import re2

from steno.redact import pairs, values
from steno.redact.decoding import View, Views, can_be_decoded, without_prefixes
from steno.redact.pair import JUDGED
from steno.redact.rule import Rule, compile_rule
from steno.redact.sequences import ESCAPE, hide
from steno.redact.shapes import SHAPES

LITERAL_LEAST = 8
LITERAL_MOST = 1024
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


class _Shape(NamedTuple):
    rule: Rule
    whole: Any
    head: Any


_SHAPES = tuple(_Shape(rule, compile_rule(rule.pattern), compile_rule(rule.head)) for rule in SHAPES)
_SHAPE_TRIGGERS = b"|".join(b"(?:" + rule.prefilter + b")" for rule in SHAPES)
_ANY_SHAPE = compile_rule(_SHAPE_TRIGGERS)
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
        if b"\n" in secret or b"\r" in secret or ESCAPE in secret:
            pieces.append(hide(secret))
        else:
            pieces.append(MASK * (end - start))
        position = end
    pieces.append(data[position:])
    return b"".join(pieces)


class Scanner:
    """The rules, and the exact values that are known to be secret."""

    def __init__(self) -> None:
        self._literals: list[bytes] = []
        self._any = compile_rule(b"(?m)" + _SHAPE_TRIGGERS + b"|" + pairs.PREFILTER)

    def learn(self, value: bytes) -> None:
        """Add an exact value. It is cut at line breaks, because bytes are looked at line by line."""
        fresh = [piece for piece in _pieces(value) if piece not in self._literals]
        if not fresh:
            return
        self._literals.extend(fresh)
        known = b"|".join(re2.escape(literal) for literal in self._literals)
        self._any = compile_rule(b"(?m)" + _SHAPE_TRIGGERS + b"|" + pairs.PREFILTER + b"|" + known)

    def is_clean(self, data: bytes) -> bool:
        if self._any.search(data) is not None:
            return False
        if not can_be_decoded(data):
            return True
        views = Views(data)
        return all(self._any.search(view.text) is None for view in views) and not views.unread

    def spans(self, data: bytes) -> list[Span]:
        spans: list[Span] = []
        for _ in range(ROUNDS):
            found, is_last = self._spans_of_views(masked(data, spans) if spans else data)
            more = merged(spans + found)
            if more == spans or is_last:
                return more
            spans = more
        return spans

    def _spans_of_views(self, data: bytes) -> tuple[list[Span], bool]:
        """What the bytes and their views give, and whether it is the bytes alone that gave something."""
        spans: list[Span] = []
        views = Views(data)
        is_last = True
        for view in (View(data), *views):
            if self._any.search(view.text) is None:
                continue
            lines = without_prefixes(view, self._any)
            for shown in (view,) if lines is None else (view, lines):
                found = self._spans(shown.text)
                is_last = is_last and (not found or shown.is_original)
                spans.extend(Span(shown.start(start), shown.end(end), rule) for start, end, rule in found)
        spans.extend(Span(start, end, DEEPLY_NESTED) for start, end in views.unread)
        return spans, is_last and not views.unread

    def _spans(self, data: bytes) -> list[Span]:
        spans, is_last = self._look(data)
        for _ in range(ROUNDS):
            if is_last:
                break
            found, is_last = self._look(masked(data, spans))
            spans = merged(spans + found)
        return spans

    def _look(self, data: bytes) -> tuple[list[Span], bool]:
        """The spans, and whether masking them is certain to leave nothing to find."""
        reading = pairs.read(data)
        spans = [Span(*span) for span in reading.spans]
        if _ANY_SHAPE.search(data) is not None:
            for shape in _SHAPES:
                spans.extend(_spans_of_shape(shape, data))
        for literal in self._literals:
            spans.extend(_spans_of_literal(literal, data))
        # Masking a value can change the judgement on another only if one was refused or two rules met.
        is_last = not spans or (len(spans) == len(reading.spans) and not reading.refused)
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
        for view in (whole, *Views(data)):
            for shown in (view, without_prefixes(view)):
                if shown is not None and shown is not whole:
                    position = self._open_at(shown.text)
                    first = min(first, shown.start(position) if position < len(shown.text) else first)
        return first

    def _open_at(self, data: bytes) -> int:
        ends = [len(data)]
        pair = pairs.read(data).open_at
        if pair is not None:
            ends.append(pair)
        if _ANY_HEAD.search(data) is not None:
            heads = (shape.head.search(data) for shape in _SHAPES)
            ends.extend(head.start(1) for head in heads if head is not None)
        ends.extend(len(data) - _overlap(data, literal) for literal in self._literals)
        return min(ends)


def _spans_of_shape(shape: _Shape, data: bytes) -> list[Span]:
    rule = shape.rule
    found = (match.span(1) for match in shape.whole.finditer(data))
    return [Span(start, end, rule.name) for start, end in found if _is_secret(rule, data, start, end)]


def _is_secret(rule: Rule, data: bytes, start: int, end: int) -> bool:
    value = data[start : min(end, start + JUDGED)]
    if values.is_masked(value) and values.is_masked(data[start:end]):
        return False
    if values.is_reference(value):
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
        if len(line) >= LITERAL_LEAST and not values.is_masked(line):
            pieces.extend(_cut(line))
    return pieces


def _cut(line: bytes) -> list[bytes]:
    pieces = [line[start : start + LITERAL_MOST] for start in range(0, len(line), LITERAL_MOST)]
    if len(pieces) > 1 and len(pieces[-1]) < LITERAL_LEAST:
        tail = pieces.pop()
        pieces[-1] += tail
    return pieces
