"""Waiting for a condition with a bound, instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 60.0
PAUSE = 0.005


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition did not come true")
        time.sleep(PAUSE)
