"""Globs of a policy: `*` is any run of characters, `?` is one, and everything else is itself.

The time is bounded by the length of the glob times the length of the name, whatever both hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_LENGTH = 256
_ELSEWHERE_SPECIAL = frozenset("[]{}\\!")


class BadGlobError(ValueError):
    """A glob that could be meant in more than one way, or in none."""


class Globs:
    """Several globs: a name fits when it fits one of them."""

    def __init__(self, globs: Iterable[str]) -> None:
        self.globs = tuple(globs)
        for glob in self.globs:
            if (why := problem(glob)) is not None:
                raise BadGlobError(why)
        # Most globs are a whole name, or a beginning or an end of one: these are compared without a pattern.
        self._exact = frozenset(glob for glob in self.globs if _is_exact(glob))
        self._beginnings = tuple(glob[:-1] for glob in self.globs if glob[-1] == "*" and _is_exact(glob[:-1]))
        self._ends = tuple(glob[1:] for glob in self.globs if glob[0] == "*" and _is_exact(glob[1:]))
        plain = {
            *self._exact,
            *(f"{start}*" for start in self._beginnings),
            *(f"*{end}" for end in self._ends),
        }
        others = [_pattern(glob) for glob in self.globs if glob not in plain]
        self._others = re.compile("|".join(others), re.DOTALL) if others else None

    def fits(self, name: str) -> bool:
        return (
            name in self._exact
            or name.startswith(self._beginnings)
            or name.endswith(self._ends)
            or (self._others is not None and self._others.fullmatch(name) is not None)
        )


def problem(glob: str) -> str | None:
    if not glob:
        return "a glob is not empty"
    if len(glob) > MAX_LENGTH:
        return f"a glob has at most {MAX_LENGTH} characters"
    if odd := next((character for character in glob if character in _ELSEWHERE_SPECIAL), None):
        return f"a glob knows only * and ?, not {odd}"
    return None if glob.isprintable() else "a glob has only printable characters"


def _is_exact(glob: str) -> bool:
    return "*" not in glob and "?" not in glob


def _pattern(glob: str) -> str:
    """A piece between two stars is taken where it first fits and never given back, so nothing backtracks."""
    first, *others = (_piece(piece) for piece in re.split(r"\*+", glob))
    if not others:
        return first
    middle = "".join(f"(?>.*?{piece})" for piece in others[:-1] if piece)
    return f"{first}{middle}.*{others[-1]}"


def _piece(piece: str) -> str:
    return "".join("." if character == "?" else re.escape(character) for character in piece)
