"""A limit never lets more through than it says, on any clock and from any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from steno.mcp.policy.policy import RateLimit

SECOND = 1_000_000_000


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.lists(st.integers(0, 3 * SECOND), max_size=40).map(
        lambda steps: [sum(steps[:n]) for n in range(len(steps))]
    ),
)
def test_no_span_holds_more_calls_than_the_limit(calls: int, seconds: int, times: list[int]) -> None:
    limit = RateLimit(calls, seconds)
    taken = [now for now in times if limit.take(now)]
    for now in times:
        assert sum(1 for then in taken if now - seconds * SECOND < then <= now) <= calls


def test_what_is_refused_does_not_count() -> None:
    limit = RateLimit(1, 10)
    assert limit.take(0)
    assert not any(limit.take(now * SECOND) for now in range(1, 10))
    assert limit.take(10 * SECOND)


def test_a_clock_that_steps_back_gives_nothing_away() -> None:
    limit = RateLimit(2, 10)
    assert limit.take(100 * SECOND)
    assert limit.take(5 * SECOND)
    assert not limit.take(16 * SECOND)
    assert not limit.take(109 * SECOND)
    assert limit.take(110 * SECOND)


def test_threads_together_get_what_one_would() -> None:
    limit = RateLimit(50, 1)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(limit.take, [0] * 1000)) == 50


def test_a_limit_says_what_it_is() -> None:
    assert RateLimit(1, 60).text() == "1 call in 60 s"
    assert RateLimit(5, 0.5).text() == "5 calls in 0.5 s"
