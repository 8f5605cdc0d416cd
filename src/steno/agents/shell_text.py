"""How agents wrap the command that they give to a shell: what the wrappers of all of them have in common."""

from __future__ import annotations

import re

FILE = rb"[\w./@%+=:,-]+"  # as agents write the names of their own
_QUOTED = re.compile(
    rb"'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\$`]|\\[\"\\$`])*)\"|\\(?P<letter>[^\n])|(?P<bare>[\w./@%+=:,-]+)",
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)


def unquoted(word: bytes) -> bytes | None:
    """What a shell makes of one word; None where it would do more than take its quotes away."""
    parts, at = [], 0
    while at < len(word):
        found = _QUOTED.match(word, at)
        if found is None:
            return None
        kind = found.lastgroup or ""
        parts.append(_ESCAPE.sub(rb"\1", found[kind]) if kind == "double" else found[kind])
        at = found.end()
    return b"".join(parts)
