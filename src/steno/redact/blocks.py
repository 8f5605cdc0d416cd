"""Private keys that span lines: what stands between BEGIN and END.

In: the lines after a BEGIN marker, one at a time. Out: which part of each line is key material, and when
the block is over. Never: a block without end; it is left at END, after `STRAYS` lines in a row that are
no key material (a marker quoted in a source file is followed by code), or after `BLOCK_LIMIT` bytes.
"""

from __future__ import annotations

from typing import Any

from steno.redact.rule import compile_rule, regex
from steno.redact.sequences import ESCAPE, strip
from steno.redact.values import is_masked

BLOCK_LIMIT = 64 << 10
STRAYS = 8
STRAYS_BEFORE_MATERIAL = 2

_KINDS = (b"-----BEGIN ", b"-----END ")
_COLOURS = rb"(?:\x1b(?:\[[?]?[0-9;:]*[@-~]\x0f?|[()][A-Z0-9]|\]8;[^\x07\x1b\r\n]*(?:\x07|\x1b\\)))*"
_PLAIN = tuple(compile_rule(kind + rb"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----") for kind in _KINDS)


def _coloured(letters: bytes) -> bytes:
    return b"".join(b"%c%s" % (letter, _COLOURS) for letter in letters)


_IN_COLOUR = tuple(
    compile_rule(
        _coloured(kind)
        + b"(?:[A-Z0-9 ]%s){0,40}" % _COLOURS
        + _coloured(b"PRIVATE KEY")
        + b"(?:%s)?" % _coloured(b" BLOCK")
        + _coloured(b"----")
        + b"-"
    )
    for kind in _KINDS
)
RULE = "private-key"

_MATERIAL = compile_rule(
    rb"[A-Za-z0-9+/=]{24,}|^[^A-Za-z0-9*]*[A-Za-z0-9+/]+={0,2}[^A-Za-z0-9*]*$|^[A-Za-z-]+: "
)
# A string literal that holds nothing but the marker: only strings of key material continue it.
_LITERAL = regex(rb"(?:\\[nr])*[\"'`]")
_QUOTED_MATERIAL = regex(rb"[^A-Za-z0-9]*[\"'`][A-Za-z0-9+/=]{16,}(?:\\[nr])*[\"'`]")
_FIRST_MATERIAL = compile_rule(
    rb"[A-Za-z0-9+/=]{24,}|^[+ >-]?(?:Version|Comment|Proc-Type|DEK-Info|Charset|Hash|MessageID): "
)
_QUOTES = regex(rb"(?:\\[nrt]|[\"',;+\\)\s`])*\Z")


def begin_in(data: bytes) -> Any:
    """The pattern of BEGIN; escape sequences may stand in it."""
    return (_IN_COLOUR if ESCAPE in data else _PLAIN)[0]


def end_in(data: bytes) -> Any:
    return (_IN_COLOUR if ESCAPE in data else _PLAIN)[1]


class KeyBlock:
    """The state between BEGIN and END."""

    __slots__ = ("_literal", "_masked_before", "_material", "_seen", "_size", "_strays", "active")

    def __init__(self) -> None:
        self.active = False
        self._material = bytearray()
        self._begin()

    def _begin(self) -> None:
        self._material.clear()
        self._size = 0
        self._strays = 0
        self._seen = False
        self._masked_before = False
        self._literal = False

    def enter(self, rest_of_line: bytes) -> tuple[int, int]:
        """The marker was seen; return the part of the rest of its line that is to be masked."""
        self._begin()
        self.active = True
        content = strip(rest_of_line).strip()
        self._masked_before = bool(content) and is_masked(content)
        self._literal = _LITERAL.match(content) is not None
        self._seen = not self._masked_before and self._is_material(content)
        return self._mask(rest_of_line) if self._seen else (0, 0)

    def line(self, line: bytes) -> tuple[int, int]:
        """One more line; return the part of it that is to be masked."""
        ending = end_in(line).search(line)
        if ending is None:
            self._judge(strip(line).strip())
            return self._mask(line) if self.active and self._seen else (0, 0)
        self.active = False
        before = line[: ending.start()]
        return self._mask(before) if self._seen or self._is_material(strip(before).strip()) else (0, 0)

    def _judge(self, content: bytes) -> None:
        if not content:
            return
        if is_masked(content):
            self._masked_before = self._masked_before or not self._seen
        elif self._masked_before:
            # The block was masked by an earlier pass, which left it here; so does this one.
            self.active = False
        elif self._is_material(content):
            self._strays = 0
            self._seen = True
        else:
            self._strays += 1
        limit = 1 if self._literal else STRAYS if self._seen else STRAYS_BEFORE_MATERIAL
        if self._strays >= limit or self._size >= BLOCK_LIMIT:
            self.active = False

    def _is_material(self, content: bytes) -> bool:
        """Once key material was seen, a short last line is some too."""
        if self._literal:
            return _QUOTED_MATERIAL.match(content) is not None
        if _QUOTES.match(content):
            return False
        return (_MATERIAL if self._seen else _FIRST_MATERIAL).search(content) is not None

    def _mask(self, part: bytes) -> tuple[int, int]:
        content = part.strip()
        if is_masked(content) or _QUOTES.match(content):
            return 0, 0
        start = part.find(content)
        self._size += len(content)
        self._material += strip(content)
        return start, start + len(content)

    def secret(self) -> bytes:
        """What was masked in the block, for the tally; empty when nothing was."""
        taken = bytes(self._material)
        self._material.clear()
        return taken
