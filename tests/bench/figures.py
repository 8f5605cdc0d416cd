"""Samples as medians with their spread, verdicts on budgets, and tables for people.

In: lists of numbers. Out: text, and the same as JSON can hold it. Never asserts: a missed budget is printed.
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


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    print(f"\n{title}")
    for line in (head, *rows):
        first, *others = (
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(["", first, *others]).rstrip(), flush=True)
