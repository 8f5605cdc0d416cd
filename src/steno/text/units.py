"""Times, lengths of time and sizes, in words people read."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_AGES = ((365 * _DAY, "y"), (7 * _DAY, "w"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m"), (1, "s"))
_SIZES = ("KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_TEN = 10
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999


def duration(nanoseconds: int) -> str:
    seconds = max(nanoseconds, 0) / 1e9
    if seconds < _TEN:
        return f"{seconds:.2f}s"
    if seconds < _MINUTE:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s"
    return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02d}m"


def cpu_time(microseconds: int) -> str:
    return f"{microseconds / 1e6:.3f}s" if microseconds < _TEN * 1_000_000 else duration(microseconds * 1000)


def age(then_ms: int, now_ms: int) -> str:
    seconds = (now_ms - then_ms) // 1000
    for unit, letter in _AGES:
        if seconds >= unit:
            return f"{seconds // unit}{letter}"
    return "now"


def size(count: int) -> str:
    if count < _STEP:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, len(_SIZES))
    return f"{count / _STEP**power:.1f} {_SIZES[power - 1]}"


def moment(ts_ms: int) -> str:
    """The wall-clock time in the reader's own zone."""
    found = datetime.fromtimestamp(min(max(ts_ms, 0), _LATEST_MS - 2 * _DAY * 1000) / 1000, UTC)
    return f"{found.astimezone():%Y-%m-%d %H:%M:%S %z}"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """`things`: where more than one are not called as one is, with an s."""
    return f"{number} {thing}" if number == 1 else f"{number} {things or f'{thing}s'}"
