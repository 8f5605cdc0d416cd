"""Colour, where it helps: on a terminal, where the user asks for it, and never against the user's wish.

In: a few roles (good, bad, warning, heading, faint), and `strong`, which goes inside one of the others. Out:
the text, in colour or as it is. Never touches text that is not already safe to print: make it visible first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from steno.views.plain import columns

_CODES = {"good": "32", "bad": "31;1", "warning": "33", "heading": "1", "faint": "2"}
_STRONG, _NOT_STRONG = "\x1b[7m", "\x1b[27m"
_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")
_OFF = {"", "0"}


class Paint(NamedTuple):
    colour: bool = False

    def __call__(self, role: str, text: str) -> str:
        return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if self.colour and text else text

    def strong(self, text: str) -> str:
        """Stands out inside text of any role."""
        return f"{_STRONG}{text}{_NOT_STRONG}" if self.colour and text else text


def paint_for(environ: Mapping[str, str], *, on_terminal: bool) -> Paint:
    """NO_COLOR says no, CLICOLOR_FORCE says also where no terminal is, CLICOLOR=0 says not on a terminal."""
    if environ.get("NO_COLOR"):
        return Paint(colour=False)
    if environ.get("CLICOLOR_FORCE", "") not in _OFF:
        return Paint(colour=True)
    wanted = environ.get("CLICOLOR") != "0" and environ.get("TERM", "") not in {"", "dumb"}
    return Paint(on_terminal and wanted)


def columns_shown(line: str) -> int:
    """How wide a painted line is on a terminal."""
    return columns(_SEQUENCE.sub("", line) if "\x1b" in line else line)
