"""Private keys that span lines: what stands between BEGIN and END.

In: the lines after a BEGIN marker, one at a time. Out: which part of each line is key material, and when
the block is over. Never: a block without end; it is left at END, after `STRAYS` lines in a row that are
no key material (a marker quoted in a source file is followed by code), or after `BLOCK_LIMIT` bytes.
"""

from __future__ import annotations

import re

from steno.redact.rule import compile_rule

BLOCK_LIMIT = 64 << 10
STRAYS = 8
STRAYS_BEFORE_MATERIAL = 2

MARKER = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
BEGIN = compile_rule(MARKER)
END = compile_rule(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
RULE = "private-key"

_MATERIAL = compile_rule(
    rb"[A-Za-z0-9+/=]{24,}|^[^A-Za-z0-9]*[A-Za-z0-9+/]+={0,2}[^A-Za-z0-9]*$|^[A-Za-z-]+: |\*{8}"
)
_QUOTES = re.compile(rb"(?:\\[nrt]|[\"',;+\\)\s`*]|\[REDACTED:[a-z0-9-]+:[0-9]+\])*\Z")


class KeyBlock:
    """The state between BEGIN and END."""

    __slots__ = ("_material", "_masked", "_seen", "_strays", "active")

    def __init__(self) -> None:
        self.active = False
        self._material = bytearray()
        self._masked = 0
        self._seen = False
        self._strays = 0

    def enter(self, rest_of_line: bytes) -> tuple[int, int]:
        """The marker was seen; return the part of the rest of its line that is to be masked."""
        self.active = True
        self._material.clear()
        self._masked = 0
        self._seen = False
        self._strays = 0
        if _QUOTES.match(rest_of_line):
            return 0, 0
        self._seen = _MATERIAL.search(rest_of_line) is not None
        return self._mask(rest_of_line) if self._seen else (0, 0)

    def line(self, line: bytes) -> tuple[int, int]:
        """One more line; return the part of it that is to be masked."""
        ending = END.search(line)
        if ending is not None:
            self.active = False
            return self._mask(line[: ending.start()])
        self._judge(line)
        return self._mask(line) if self._seen and self.active else (0, 0)

    def _judge(self, line: bytes) -> None:
        content = line.strip()
        if not content or _MATERIAL.search(content) is not None:
            self._strays = 0
            self._seen = self._seen or bool(content)
        else:
            self._strays += 1
        limit = STRAYS if self._seen else STRAYS_BEFORE_MATERIAL
        if self._strays >= limit or self._masked >= BLOCK_LIMIT:
            self.active = False

    def _mask(self, part: bytes) -> tuple[int, int]:
        content = part.strip()
        if _QUOTES.match(content):
            return 0, 0
        start = part.find(content)
        self._masked += len(content)
        self._material += content
        return start, start + len(content)

    def secret(self) -> bytes:
        """What was masked in the block, for the tally; empty when nothing was."""
        taken = bytes(self._material)
        self._material.clear()
        return taken
