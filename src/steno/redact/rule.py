"""What a rule is.

In: nothing; a rule is data. Out: the record `Rule`, and the one way its patterns are compiled. Never:
matching; the engine does that, with RE2, so that no input is slow.

A shape rule is three patterns: `before` (public: a prefix, a marker), `value` (the secret) and `after`
(public, may be empty). `partial` matches any beginning of a value; from it the `head` of the rule
follows: what may be the beginning of such a secret at the end of the bytes seen so far.
None may capture: the one group is the secret. `before` may match one line break, where
`lines.opens_next_line` knows the line that ends with it; the other patterns match none.
A pair rule has no patterns: `steno.redact.pairs` reads key and value; here are its name and its examples.
"""

from __future__ import annotations

from typing import Any

import msgspec
import re2

DFA_BYTES = 64 << 20


class Example(msgspec.Struct, frozen=True):
    """A line that must be caught, and the part of it that is the secret."""

    line: bytes
    secret: bytes


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    examples: tuple[Example, ...]
    counterexamples: tuple[bytes, ...] = ()
    before: bytes = b""
    value: bytes = b""
    after: bytes = b""
    partial: bytes = b""
    trigger: bytes = b""
    hint: bytes = b""  # found also where escapes stand in what `before` matches; needless where none can
    needs_digit: bool = False

    @property
    def pattern(self) -> bytes:
        return b"(?:%s)(?P<secret>%s)%s" % (self.before, self.value, self.after)

    @property
    def head(self) -> bytes:
        return b"(?:%s)(?P<secret>%s)\\z" % (self.before, self.partial)

    @property
    def prefilter(self) -> bytes:
        """Matches wherever the pattern does, and costs less."""
        return self.trigger or self.before


def compile_rule(pattern: bytes) -> Any:
    """Compile for bytes: every byte is one character, so that invalid UTF-8 cannot hide a secret."""
    return re2.compile(pattern, options())


def options() -> Any:
    wanted = re2.Options()
    wanted.encoding = re2.Options.Encoding.LATIN1
    wanted.log_errors = False
    wanted.max_mem = DFA_BYTES
    return wanted
