"""What a rule is, and the one way its patterns are compiled: with RE2, so that no input is slow.

A shape rule is three patterns: `before` (public: a prefix, a marker), `value` (the secret) and `after`
(public, may be empty). `partial` matches any beginning of a value; from it the `head` of the rule
follows: what may be the beginning of such a secret at the end of the bytes seen so far.
None may capture: the one group is the secret. `before` may match one line break, where
`text.opens_next_line` knows the line that ends with it; the other patterns match none.
A pair rule has no patterns: `steno.redact.assignments` reads name and value; here are its name and its
examples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

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


class _CompiledLate:
    """Stands for a pattern, and compiles it when it is first asked for anything: clean bytes need few of all
    patterns, and to compile them takes as long as all else that a start of the redactor does."""

    def __init__(self, compiled: Callable[[], Any]) -> None:
        self._compiled: Callable[[], Any] | None = compiled

    def __getattr__(self, name: str) -> Any:
        if self._compiled is not None:
            self._pattern, self._compiled = self._compiled(), None
        found = getattr(self._pattern, name)
        setattr(self, name, found)  # so that the next time nobody comes here
        return found


def regex(pattern: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """For values and lines that were found already; whole texts are looked through with RE2."""
    return cast("re.Pattern[bytes]", _CompiledLate(partial(re.compile, pattern, flags)))


def compile_rule(pattern: bytes) -> Any:
    """Compile for bytes: every byte is one character, so that invalid UTF-8 cannot hide a secret."""
    return _CompiledLate(lambda: re2.compile(pattern, options()))


def compile_set(patterns: Sequence[bytes]) -> Any:
    """Tells at one look which of the patterns are found."""

    def compiled() -> Any:
        together = re2.Set.SearchSet(options())
        for pattern in patterns:
            together.Add(pattern)
        together.Compile()
        return together

    return _CompiledLate(compiled)


def options() -> Any:
    wanted = re2.Options()
    wanted.encoding = re2.Options.Encoding.LATIN1
    wanted.log_errors = False
    wanted.max_mem = DFA_BYTES
    return wanted
