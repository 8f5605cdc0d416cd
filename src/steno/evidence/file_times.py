"""Times of files as the kernel table has them: nanoseconds in 64 bits, which go round.

In: a number of the table or of a frame. Out: nanoseconds since 1970. File systems keep times from December
1901 to July 2486 at most: what would be earlier than that is later than 2262, where 63 bits end.
"""

from __future__ import annotations

_EARLIEST_NS = -(2**31) * 10**9
_ROUND = 2**64


def file_time(number: int) -> int:
    return number if number >= _EARLIEST_NS else number + _ROUND
