"""A look at many files: it is told, and can be ended, when it lasts."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.launch import snapshot
from steno.launch.snapshot import LookEndedError, SnapshotProgress


class Clock:
    """Every look at it costs so many seconds."""

    def __init__(self, step: float) -> None:
        self._step = step
        self._now = 0.0

    def __call__(self) -> float:
        self._now += self._step
        return self._now


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Folder]:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"1234")
    with Folder(tmp_path) as folder:
        yield folder


@pytest.fixture(autouse=True)
def _handlers_as_they_were() -> Iterator[None]:
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in found.items():
        signal.signal(number, handler)


def test_a_short_look_says_nothing_and_cannot_be_ended(run: Folder) -> None:
    told: list[str | None] = []
    looking = SnapshotProgress(told.append, Clock(0.0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGINT)
    assert list(looking.look(run).files) == ["a", "b"]
    assert told == []


def test_a_long_look_tells_how_far_it_is_and_then_that_it_is_over(run: Folder) -> None:
    told: list[str | None] = []
    SnapshotProgress(told.append, Clock(snapshot.PATIENCE)).look(run)
    assert told[-2:] == ["looking at the files: 2, 8 B read; Control-C ends it", None]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_long_look_is_ended_by_a_signal_that_is_ignored_around_it(
    run: Folder, number: signal.Signals
) -> None:
    told: list[str | None] = []

    def tell(words: str | None) -> None:
        told.append(words)
        if words is not None:
            os.kill(os.getpid(), number)

    signal.signal(number, signal.default_int_handler)
    looking = SnapshotProgress(tell, Clock(snapshot.PATIENCE))
    signal.signal(number, signal.SIG_IGN)
    with pytest.raises(LookEndedError, match=number.name):
        looking.look(run)
    assert told[-1] is None
    assert signal.getsignal(number) is signal.SIG_IGN


def test_a_signal_that_the_user_ignores_ends_nothing(run: Folder) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    looking = SnapshotProgress(lambda _: os.kill(os.getpid(), signal.SIGHUP), Clock(snapshot.PATIENCE))
    assert list(looking.look(run).files) == ["a", "b"]
