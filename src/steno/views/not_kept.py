"""The paths that a run changed and whose states before and after are not kept, in words.

In: what the model tells of them. Out: lines that are safe to print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from steno.model.contents import LEFT_OUT, NotKept
from steno.text.safe import listed, visible
from steno.text.units import counted

_NAMES_SHOWN = 3


def lines(found: list[NotKept], thing: str = "more path") -> Iterator[str]:
    """How many they are and why, and some of their names; nothing where there are none."""
    if not found:
        return
    whose = "its state is" if len(found) == 1 else "their states are"
    # What is ignored is not hidden behind all that git writes.
    names = (one.path for one in sorted(found, key=lambda one: (one.why != LEFT_OUT, one.path)))
    yield (
        f"{counted(len(found), thing)} may have changed: {whose} not kept "
        f"({', '.join(_reasons(found))}): {listed(names, _NAMES_SHOWN)}"
    )


def row(one: NotKept) -> str:
    return visible(f"{one.path} ({' and '.join(one.did)}, {one.why})")


def _reasons(found: list[NotKept]) -> Iterator[str]:
    counts = Counter(one.why for one in found)
    if len(counts) == 1:
        yield from counts
    else:
        yield from (f"{count} {why}" for why, count in sorted(counts.items()))
