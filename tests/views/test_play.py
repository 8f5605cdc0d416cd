"""Replaying: recorded pace, without waiting for it."""

from __future__ import annotations

from steno.judge.terminal import ERRORS, INPUT, OUTPUT, RESIZE, Moment
from steno.views.play import NANO, Pace, Stage, play, to_json

MOMENTS = [
    Moment(1 * NANO, OUTPUT, b"one"),
    Moment(2 * NANO, INPUT, b"typed"),
    Moment(2 * NANO, RESIZE, b"", 100, 30),
    Moment(3 * NANO, ERRORS, b"two"),
    Moment(13 * NANO, OUTPUT, b"three"),
]


class Theatre:
    """A clock that moves when it is slept on, or when writing takes its time."""

    def __init__(self, writing_takes: float = 0.0) -> None:
        self.now = 1000.0
        self.seen: list[tuple[float, bytes]] = []
        self._writing_takes = writing_takes

    def write(self, data: bytes) -> None:
        self.seen.append((round(self.now - 1000.0, 6), data))
        self.now += self._writing_takes

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds

    @property
    def stage(self) -> Stage:
        return Stage(self.write, self.sleep, lambda: self.now)


def played(pace: Pace, writing_takes: float = 0.0) -> list[tuple[float, bytes]]:
    theatre = Theatre(writing_takes)
    play(MOMENTS, theatre.stage, pace)
    return theatre.seen


def test_output_comes_at_its_recorded_time_and_input_is_not_shown() -> None:
    assert played(Pace()) == [(1.0, b"one"), (3.0, b"two"), (13.0, b"three")]


def test_twice_the_speed_is_half_the_time() -> None:
    assert played(Pace(speed=2)) == [(0.5, b"one"), (1.5, b"two"), (6.5, b"three")]


def test_no_pause_is_longer_than_the_limit() -> None:
    assert played(Pace(idle_limit=1.5)) == [(1.0, b"one"), (2.5, b"two"), (4.0, b"three")]


def test_a_limit_of_zero_never_waits() -> None:
    assert [when for when, _ in played(Pace(idle_limit=0))] == [0.0, 0.0, 0.0]


def test_slow_writing_does_not_stretch_the_play() -> None:
    assert [when for when, _ in played(Pace(), writing_takes=0.5)] == [1.0, 3.0, 13.0]


def test_as_data_every_moment_is_there() -> None:
    assert list(to_json([*MOMENTS[:3], Moment(5, OUTPUT, b"\xff\x00")])) == [
        {"mono_ns": NANO, "code": "o", "text": "one"},
        {"mono_ns": 2 * NANO, "code": "i", "text": "typed"},
        {"mono_ns": 2 * NANO, "code": "r", "cols": 100, "rows": 30},
        {"mono_ns": 5, "code": "o", "bytes": "/wA="},
    ]
