"""The logs in which programs of a run tell of themselves, and their lines. The bytes may be anything."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import NamedTuple

from steno.evidence import intake
from steno.evidence.claims import FileKey, ProcessKey
from steno.evidence.intake import BadIntakeError

TOO_LARGE = "log_too_large"
MAX_LOG = 64 << 20
MAX_PROXIES = 10_000
MOST_DAMAGED = 100


class LogRead(NamedTuple):
    data: bytes
    problem: str | None = None  # a fixed word
    file: FileKey | None = None


class PolicyLog(NamedTuple):
    """The log that is named after a proxy. Whether that process wrote it, the kernel layer says."""

    owner: ProcessKey
    read: LogRead

    @property
    def name(self) -> str:
        return intake.policy_log(self.owner.pid, self.owner.start_ticks)


class Damage(NamedTuple):
    lines: int = 0
    unread: int = 0  # bytes

    def __add__(self, other: Damage) -> Damage:  # type: ignore[override]
        return Damage(self.lines + other.lines, self.unread + other.unread)


def take_lines(data: bytes, take: Callable[[int, bytes], None]) -> Damage:
    """`take` is given each line with its number, and raises `BadIntakeError` for one that is none of ours.

    After too many of those the rest is not read: whoever fills a log with junk does not make the run wait.
    """
    damaged = 0
    log = BytesIO(data)
    for number, raw in enumerate(log):
        try:
            take(number, raw)
        except BadIntakeError:
            damaged += 1
            if damaged == MOST_DAMAGED:
                return Damage(damaged, len(data) - log.tell())
    return Damage(damaged)
