"""Moments of a recorder in which Control-C must not be an exception.

In: nothing. Out: contexts. In the one, signals are ignored: the command is over and the rest is short. In the
other a signal is kept for whoever can pass it on: the command is about to start, and to leave it then
would leave it to nobody. Handlers are put back as they were found.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from steno.capture.signals import FORWARDED

_NOT_NOW = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


@contextmanager
def undisturbed() -> Iterator[list[int]]:
    """A second Control-C must not cost the record its seal. Yields those not ignored before."""
    found = {number: signal.signal(number, signal.SIG_IGN) for number in _NOT_NOW}
    try:
        yield [number for number, handler in found.items() if handler is not signal.SIG_IGN]
    finally:
        for number, handler in found.items():
            signal.signal(number, handler)


@contextmanager
def signals_kept() -> Iterator[list[int]]:
    """The signals that came and would be passed on; one that was ignored before stays ignored."""
    came: list[int] = []
    found = {number: signal.getsignal(number) for number in FORWARDED}
    kept = {number: handler for number, handler in found.items() if handler is not signal.SIG_IGN}
    for number in kept:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
