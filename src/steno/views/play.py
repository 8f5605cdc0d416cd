"""A recorded terminal, replayed on this one with its pauses."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from steno.model.record import ERRORS, OUTPUT, RESIZE, Moment

# Attributes off, cursor on, main screen, no mouse or paste reports, normal keys and character set.
RESET = (
    b"\x1b[0m\x1b[?25h\x1b[?1047l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l"
    b"\x1b[?1l\x1b>\x1b(B\x0f\x1b[r\x1b[?7h"
)
NANO = 1_000_000_000
_SHOWN = {OUTPUT, ERRORS}


class Pace(NamedTuple):
    """`speed` 2 is twice as fast; no pause is longer than `idle_limit` seconds (0: no pauses at all)."""

    speed: float = 1.0
    idle_limit: float | None = None

    def pause(self, nanoseconds: int) -> float:
        seconds = max(nanoseconds, 0) / NANO / self.speed
        return seconds if self.idle_limit is None else min(seconds, self.idle_limit)


class Stage(NamedTuple):
    """Where it is played: how to write, how to wait, and a clock in seconds that runs on while we write."""

    write: Callable[[bytes], None]
    sleep: Callable[[float], None]
    clock: Callable[[], float]


def play(moments: Iterable[Moment], stage: Stage, pace: Pace) -> None:
    """Each moment has its due time, so a slow terminal delays the play but does not stretch it."""
    due, last_ns = stage.clock(), 0
    for moment in moments:
        if moment.code not in _SHOWN or not moment.data:
            continue
        due += pace.pause(moment.mono_ns - last_ns)
        last_ns = max(moment.mono_ns, last_ns)
        wait = due - stage.clock()
        if wait > 0:
            stage.sleep(wait)
        stage.write(moment.data)


def to_json(moments: Iterable[Moment]) -> Iterator[dict[str, Any]]:
    """Every moment, also input and resizes. What is not UTF-8 is given as base64 under `bytes`."""
    for moment in moments:
        found: dict[str, Any] = {"mono_ns": moment.mono_ns, "code": moment.code}
        if moment.code == RESIZE:
            yield found | {"cols": moment.cols, "rows": moment.rows}
            continue
        try:
            yield found | {"text": moment.data.decode()}
        except UnicodeDecodeError:
            yield found | {"bytes": base64.b64encode(moment.data).decode()}
