"""Colour, where it helps: only on a terminal, and never against the user's wish.

In: a few roles (good, bad, warning, heading, faint). Out: the text, in colour or as it is. Never touches text
that is not already safe to print: make it visible first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_CODES = {"good": "32", "bad": "31;1", "warning": "33", "heading": "1", "faint": "2"}


class Paint(NamedTuple):
    colour: bool = False

    def __call__(self, role: str, text: str) -> str:
        return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if self.colour and text else text


def paint_for(environ: Mapping[str, str], *, on_terminal: bool) -> Paint:
    wanted = not environ.get("NO_COLOR") and environ.get("TERM", "") not in {"", "dumb"}
    return Paint(on_terminal and wanted)
