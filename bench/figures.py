"""Samples as medians with their spread, verdicts on budgets, and tables for people.

In: lists of numbers. Out: text for a table, or a table line by line. Never asserts: a missed budget is
printed.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

NONE = "-"


class Spread(NamedTuple):
    median: float
    least: float
    most: float

    def text(self, scale: float = 1.0, digits: int = 3) -> str:
        median, least, most = (f"{value * scale:.{digits}f}" for value in self)
        return f"{median} {least}..{most}"


def spread(samples: Sequence[float]) -> Spread | None:
    return Spread(statistics.median(samples), min(samples), max(samples)) if samples else None


def ratio(samples: Sequence[float], base: Sequence[float]) -> float | None:
    """Of the medians."""
    if not samples or not base:
        return None
    return statistics.median(samples) / statistics.median(base)


def times(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}x"


def verdict(value: float | None, most: float | None, unit: str) -> str:
    if most is None:
        return ""
    if value is None:
        return f"≤ {most:g}{unit} not measured"
    return f"≤ {most:g}{unit} {'ok' if value <= most else 'MISSED'}"


def verdict_at_least(value: float, least: float, unit: str) -> str:
    return f"≥ {least:,.0f}{unit} {'ok' if value >= least else 'MISSED'}"


class Table:
    """Its columns are as wide as they were said to be, so that a line can be printed when it is known."""

    def __init__(self, title: str, columns: Sequence[tuple[str, int]]) -> None:
        self._widths = [width for _, width in columns]
        print(f"\n{title}")
        self.add([name for name, _ in columns])

    def add(self, cells: Sequence[str]) -> None:
        _print_line(cells, self._widths)


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    print(f"\n{title}")
    for line in (head, *rows):
        _print_line(line, widths)


def _print_line(cells: Sequence[str], widths: Sequence[int]) -> None:
    first, *others = zip(cells, widths, strict=True)
    words = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
    print("  ".join(["", *words]).rstrip(), flush=True)
