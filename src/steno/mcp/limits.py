"""A limit on how often: at most so many in any span of so many seconds.

In: the time of each attempt, in nanoseconds on a monotonic clock. Out: whether it is within the limit. What
is refused does not count. A clock that steps back is taken to stand still. May be used from several threads.
Never asks a clock itself.
"""

from __future__ import annotations

import threading
from collections import deque

MAX_CALLS = 100_000
MAX_SECONDS = 30 * 86_400
_NS = 1_000_000_000


class RateLimit:
    def __init__(self, calls: int, seconds: float) -> None:
        self.calls = calls
        self.seconds = seconds
        self._span_ns = round(seconds * _NS)
        self._taken: deque[int] = deque(maxlen=calls)  # when; the oldest first
        self._lock = threading.Lock()

    def take(self, now_ns: int) -> bool:
        with self._lock:
            if self._taken:
                now_ns = max(now_ns, self._taken[-1])
            if len(self._taken) == self.calls and now_ns - self._taken[0] < self._span_ns:
                return False
            self._taken.append(now_ns)
            return True

    def says(self) -> str:
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{calls} in {self.seconds:g} s"
