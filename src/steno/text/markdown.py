"""Markdown that fits into a comment on a pull request, and ends well where it is cut.

Text that a stranger may have chosen stands in a code span, so that no name becomes a link, a mention or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from steno.text.safe import ELLIPSIS, visible

MAX_CHARACTERS = 65_000
_MAX_ENTRY = 400  # of one entry; a path may have 4096 bytes
_FOR_THE_END = 300
_TAB = "\t"


class Line(NamedTuple):
    text: str
    is_entry: bool = False  # it is counted when it is left out


class Section(NamedTuple):
    """Lines that go together, and what stands behind them whatever is cut."""

    lines: list[Line]
    closing: str = ""
    left_out: int = 0  # entries that are not even among the lines


def folded(title: str, lines: list[Line]) -> Section:
    """`title` is ours: it is HTML."""
    return Section([_summary(title), *lines], "\n\n</details>\n")


def folded_code(title: str, language: str, lines: Iterable[str], left_out: int = 0) -> Section:
    """Lines of text as a block of code; the fence is longer than any run of backticks in it."""
    shown = [_cut(_TAB.join(map(visible, line.split(_TAB)))) for line in lines]
    fence = "`" * max(3, 1 + max(map(_backticks, shown), default=0))
    entries = [Line(line, is_entry=True) for line in shown]
    opening = Line(f"{_summary(title).text}\n{fence}{language}")
    return Section([opening, *entries], f"\n{fence}\n\n</details>\n", left_out)


def fitted(
    head: str, sections: Iterable[Section], ending: Callable[[int], str], most: int = MAX_CHARACTERS
) -> str:
    """`ending` says that so many lines did not fit."""
    room = most - len(head) - _FOR_THE_END
    written, left_out = [head], 0
    for section in sections:
        room -= len(section.closing)
        left_out += section.left_out
        kept: list[str] = []
        for line in section.lines:
            room -= len(line.text) + 1
            if room > 0:
                kept.append(line.text)
            else:
                left_out += line.is_entry
        if kept:
            written.append("\n".join(kept) + section.closing)
    if left_out:
        written.append(f"\n{ending(left_out)}")
    return "\n".join(written).rstrip() + "\n"


def code(entry: str) -> str:
    """A code span around any text: the fence is longer than every run of backticks inside."""
    shown = _cut(visible(entry))
    fence = "`" * (_backticks(shown) + 1)
    padding = " " if shown[:1] in {"`", " ", ""} or shown[-1:] in {"`", " "} else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def _summary(title: str) -> Line:
    return Line(f"<details><summary>{title}</summary>\n")


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_ENTRY else text[:_MAX_ENTRY] + ELLIPSIS


def _backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
