"""Numbers in words."""

from __future__ import annotations

import time

import pytest

from steno.text import units

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.00s"),
        (49_402_259, "0.05s"),
        (12 * SECOND, "12.0s"),
        (75 * SECOND, "1m15s"),
        (2 * 3600 * SECOND + 61 * SECOND, "2h01m"),
        (-5, "0.00s"),
    ],
)
def test_a_duration(nanoseconds: int, text: str) -> None:
    assert units.duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (3 << 30, "3.0 GiB"),
        (1 << 70, "1048576.0 PiB"),
    ],
)
def test_a_size(count: int, text: str) -> None:
    assert units.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "now"), (-9, "now"), (5, "5s"), (120, "2m"), (7200, "2h"), (86400 * 3, "3d"), (86400 * 20, "2w")],
)
def test_an_age(seconds: int, text: str) -> None:
    assert units.age(1_000_000, 1_000_000 + seconds * 1000) == text


def test_a_moment_is_in_the_readers_own_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    try:
        assert units.moment(1_769_342_400_000) == "2026-01-25 14:00:00 +0200"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("ts_ms", [-(2**62), 2**62, 0])
def test_no_number_is_too_odd_to_be_a_moment(ts_ms: int) -> None:
    assert units.moment(ts_ms)


def test_one_is_told_as_one_and_more_as_more() -> None:
    assert [units.counted(number, "event") for number in (0, 1, 2)] == ["0 events", "1 event", "2 events"]
    assert [units.counted(number, "process", "processes") for number in (1, 2)] == [
        "1 process",
        "2 processes",
    ]
