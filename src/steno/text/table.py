"""Rows of cells as lines in which each column begins at one place. The cells are safe to print already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steno.text.safe import columns, cut, pad

GAP = "  "


def aligned(rows: Sequence[Sequence[str]], *, width: int | None = None) -> Iterator[list[str]]:
    """The cells of each row, padded; the last one has what is left of the width."""
    if not rows:
        return
    widths = [max(columns(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    room = None if width is None else max(width - sum(widths) - len(GAP) * len(widths), 0)
    for *first, last in rows:
        yield [*map(pad, first, widths), last if room is None else cut(last, room)]
