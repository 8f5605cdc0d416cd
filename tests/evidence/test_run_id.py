"""Run ids: made of a time and chance, sorted as text in order of time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence.run_id import format_run_id, is_run_id

TIMES = st.integers(946_684_800_000, 4_102_444_800_000)  # 2000 to 2100


@given(TIMES, st.binary(min_size=4, max_size=8))
def test_an_id_carries_its_time_to_the_millisecond_and_four_bytes_of_chance(
    ts_ms: int, chance: bytes
) -> None:
    run_id = format_run_id(ts_ms, chance)
    assert is_run_id(run_id)
    time, _, tail = run_id.partition("_")
    moment = datetime.strptime(time[:-5], "%Y-%m-%dT%H-%M-%S").replace(tzinfo=UTC)
    assert int(moment.timestamp()) * 1000 + int(time[-4:-1]) == ts_ms
    assert tail == chance[:4].hex()


@given(TIMES, TIMES)
def test_ids_sort_as_their_times_do(one: int, other: int) -> None:
    earlier, later = sorted((one, other))
    assert format_run_id(earlier, b"\0\0\0\0") <= format_run_id(later, b"\0\0\0\0")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-25T12-00-00-000Z",
        "2026-01-25T12-00-00-000Z_0123ABCD",
        "2026-01-25T12-00-00-000Z_0123abc",
        "2026-01-25T12-00-00-000Z_0123abcde",
        "2026-01-25T12-00-00-000Z_0123abcd\n",
        " 2026-01-25T12-00-00-000Z_0123abcd",
        "2026-01-25T12:00:00-000Z_0123abcd",
        "../2026-01-25T12-00-00-000Z_0123abcd",
        "\u0662026-01-25T12-00-00-000Z_0123abcd",
    ],
)
def test_what_only_looks_like_an_id_is_not_one(text: str) -> None:
    assert not is_run_id(text)


def test_digits_of_other_scripts_are_not_digits_of_an_id() -> None:
    assert not is_run_id("\u0662\u0660\u0662\u0666-01-25T12-00-00-000Z_0123abcd")
