"""The events of two witnesses in order of time, whatever the blocks they come in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.bundle import frames
from steno.bundle.frames import in_order_of_time
from steno.evidence import wire

SIZE = wire.EVENT.size


def _record(time: int, number: int) -> bytes:
    return time.to_bytes(8, "little") + number.to_bytes(8, "little") + bytes(SIZE - 16)


def _times(blocks: list[bytes]) -> list[int]:
    joined = b"".join(blocks)
    return [int.from_bytes(joined[at : at + 8], "little") for at in range(0, len(joined), SIZE)]


def _blocks(times: list[int], size: int) -> list[bytes]:
    records = [_record(time, number) for number, time in enumerate(times)]
    return [b"".join(records[at : at + size]) for at in range(0, len(records), size)]


@given(st.lists(st.integers(0, 100), max_size=40), st.integers(1, 8))
def test_no_record_is_lost_or_made_up(times: list[int], size: int) -> None:
    blocks = _blocks(times, size)
    out = list(in_order_of_time(iter(blocks)))
    joined, before = b"".join(out), b"".join(blocks)
    records = [joined[at : at + SIZE] for at in range(0, len(joined), SIZE)]
    assert sorted(records) == sorted(before[at : at + SIZE] for at in range(0, len(before), SIZE))


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 8))
def test_what_comes_at_most_a_block_too_late_is_put_where_it_belongs(times: list[int], size: int) -> None:
    late = sorted(times)
    for at in range(0, len(late) - 1, 2):  # each two are in the wrong order
        late[at], late[at + 1] = late[at + 1], late[at]
    assert _times(list(in_order_of_time(iter(_blocks(late, size + 1))))) == sorted(times)


@pytest.mark.parametrize("few", [0, 1000])
def test_events_of_the_same_time_keep_their_order(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_FEW", few)
    times = [5, 5, 3, 5, 3]
    out = b"".join(in_order_of_time(iter(_blocks(times, 10))))
    numbers = [int.from_bytes(out[at + 8 : at + 16], "little") for at in range(0, len(out), SIZE)]
    assert numbers == [2, 4, 0, 1, 3]
