"""Gaps with a number: one is told as one."""

from __future__ import annotations

import pytest

from steno.record.gaps import EVENTS_LOST, OF_COUNTERS, OUTLIVED, CountedGap, counted, split_hole


@pytest.mark.parametrize(
    ("counter", "one", "two"),
    [
        ("unseen_exits", "1 process whose end was not seen", "2 processes whose end was not seen"),
        (
            "unresolved",
            "1 change of a file whose name could not be learned",
            "2 changes of files whose name could not be learned",
        ),
        ("escaped", "1 process left the cgroup of the run", "2 processes left the cgroup of the run"),
    ],
)
def test_one_is_told_as_one_and_two_as_two(counter: str, one: str, two: str) -> None:
    gap = OF_COUNTERS[counter]
    assert (gap.says(1), gap.says(2)) == (one, two)


@pytest.mark.parametrize("gap", [*OF_COUNTERS.values(), EVENTS_LOST, OUTLIVED])
def test_every_gap_has_words_for_one_and_for_more(gap: CountedGap) -> None:
    assert gap.one != gap.more
    assert gap.says(1) == f"1 {gap.one} {gap.rest}"
    assert gap.says(2) == f"2 {gap.more} {gap.rest}"


def test_what_was_written_on_a_descriptor_that_nobody_watched_is_not_told_as_nothing() -> None:
    unknown = "1 descriptor of the terminal could not be watched, an unknown number of bytes"
    assert split_hole(1, 0) == f"{unknown} is in neither stream"
    assert split_hole(1, 7) == f"{unknown}, at least 7, is in neither stream"
    assert (split_hole(0, 1), split_hole(0, 7)) == (
        "1 byte is in neither stream",
        "7 bytes are in neither stream",
    )


def test_none_is_told_as_many_are() -> None:
    assert counted(0, "record was", "records were", "not whole") == "0 records were not whole"
