"""Effects by call: every row belongs to one call, to several, or to none, in tables of any size."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steno.evidence import syscalls
from steno.evidence.layers import Layers
from steno.judge.calls.attribution import Counts
from steno.judge.calls.verdicts import CallScan
from steno.judge.scan import Reading
from support.calls_made import calls_of, decision, run_of
from support.frames_made import FakeFrames

_rows = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40), st.sampled_from("abc")), max_size=12)
_windows = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 4)), max_size=5)


def made_of(rows: list[tuple[int, int, str]]) -> FakeFrames:
    """1 is the parent of 2 and 3, 3 the parent of 4; all are there from the beginning."""
    made = FakeFrames()
    for number, parent in ((1, 0), (2, 1), (3, 1), (4, 3)):
        made.event("process", process=number, arg=1000 + number | parent << 32, arg2=7, result=0, at=0)
    for process, at, name in rows:
        made.event("open", f"/{name}", process=process, at=at + 1)
    return made


def counts_of(layers: Layers) -> Counts:
    return Reading(layers).scanned(CallScan).effects.counts


@settings(max_examples=40)
@given(_rows, _windows)
def test_every_row_is_counted_once(
    rows: list[tuple[int, int, str]], spans: list[tuple[int, int, int]]
) -> None:
    policy = [
        decision(f"call{place}", at=(min(a, b) + 1, max(a, b) + 1), server=root, connection=f"c{place}")
        for place, (a, b, root) in enumerate(spans)
    ]
    layers = run_of(made_of(rows), policy)
    counts = counts_of(layers)
    assert counts.nobody + counts.alone.total() + counts.shared.total() == len(rows) + 4


@pytest.mark.parametrize("large", [1, 1 << 40], ids=["library", "dicts"])
def test_small_batches_and_both_ways_of_grouping_give_the_same(
    monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    rows = [(process, at, name) for at in range(40) for process, name in ((1, "a"), (2, "b"), (4, "c"))]
    policy = [
        decision("x", at=(5, 15)),
        decision("y", at=(12, 20)),
        decision("z", at=(22, 30), server=3, connection="d"),
    ]
    expected = calls_of(made_of(rows), policy)
    monkeypatch.setattr(syscalls, "LARGE", large)
    monkeypatch.setattr(syscalls, "BATCH", 7)
    assert calls_of(made_of(rows), policy) == expected


def test_ten_thousand_calls_are_told_apart() -> None:
    rows = [(2, place * 4 + 1, "abc"[place % 3]) for place in range(10_000)]
    policy = [
        decision(f"call{place}", at=(place * 4 + 1, place * 4 + 4), request_id=str(place))
        for place in range(10_000)
    ]
    layers = run_of(made_of(rows), policy)
    counts = counts_of(layers)
    assert Counter(counts.alone.values()) == {1: 10_000}
    assert counts.nobody == 4
