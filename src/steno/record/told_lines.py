"""The lines of a log that programs of a run told us in, up to the point where it is no log of ours any more.

In: the bytes of a log, which may be hostile, and who takes its lines. Out: how many lines were damaged, and
how many bytes were not read because there were too many of those: whoever fills a log with junk does not make
the run wait. Never raises for what it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import NamedTuple

from steno.evidence.intake import BadIntakeError

MOST_DAMAGED = 100


class Damage(NamedTuple):
    lines: int = 0
    unread: int = 0  # bytes

    def __add__(self, other: Damage) -> Damage:  # type: ignore[override]
        return Damage(self.lines + other.lines, self.unread + other.unread)


def take_lines(data: bytes, take: Callable[[int, bytes], None]) -> Damage:
    """`take` is given each line with its number, and raises `BadIntakeError` for one that is none of ours."""
    damaged = 0
    log = BytesIO(data)
    for number, raw in enumerate(log):
        try:
            take(number, raw)
        except BadIntakeError:
            damaged += 1
            if damaged == MOST_DAMAGED:
                return Damage(damaged, len(data) - log.tell())
    return Damage(damaged)
