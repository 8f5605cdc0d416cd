"""What the numbers of errors and signals in a record mean, by `linux_abi` and never by the reader's own."""

from __future__ import annotations

from steno.evidence.linux_abi import ERRORS, SIGNALS

# Of a connect: it goes on without the caller, which learns later, if at all, what came of it.
UNDER_WAY = frozenset({"EINPROGRESS", "EALREADY", "EINTR"})
# Of a connect: there is a connection already.
THERE_ALREADY = "EISCONN"


def signal_name(number: int) -> str:
    return SIGNALS.get(number, f"SIG{number}")


def may_have_connected(result: int) -> bool:
    """Whether a connect that returned this error has led to a connection, or may have."""
    return ERRORS.get(-result) in {*UNDER_WAY, THERE_ALREADY}


_EARLIEST_NS = -(2**31) * 10**9
_ROUND = 2**64


def file_time(number: int) -> int:
    return number if number >= _EARLIEST_NS else number + _ROUND
