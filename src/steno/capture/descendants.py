"""The processes that a command leaves behind, for as long as somebody waits for them.

In: the keeper that took them over. Out: whether one of them lives, and a descriptor to wait on. This is the
way where there is no cgroup: an observer takes over what the command leaves (it is their subreaper), so its
children are the first of them; when one ends, its own children become the observer's. Never ends a process.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

# Where children come and go all the time, two reads are never equal; then there are some.
MOST_READS = 100


class Descendants(Protocol):
    @property
    def changes(self) -> tuple[int, int]:
        """What poll(2) is to wait for, to learn that `populated` may have changed since it was asked."""

    def populated(self) -> bool: ...


class Awaited(NamedTuple):
    """Whom to wait for when the command has ended, and for how long."""

    descendants: Descendants
    seconds: float


class KeeperChildren:
    def __init__(self, keeper: int) -> None:
        self._tasks = Path(f"/proc/{keeper}/task")
        self._held: dict[int, int] = {}  # a child -> its handle
        self._over: set[int] = set()  # ended, and not yet collected by the keeper
        self._poll = select.epoll()

    @property
    def changes(self) -> tuple[int, int]:
        return self._poll.fileno(), select.POLLIN

    def populated(self) -> bool:
        children = self._children()
        self._over &= children
        for pid in children - self._over - self._held.keys():
            self._hold(pid)
        ended = {fd for fd, _ in self._poll.poll(0)}
        for pid in [pid for pid, fd in self._held.items() if fd in ended or pid not in children]:
            self._over.add(pid)
            os.close(self._held.pop(pid))
        return bool(self._held)

    def close(self) -> None:
        for fd in self._held.values():
            os.close(fd)
        self._poll.close()

    def _children(self) -> set[int]:
        """The kernel passes a child by when another is collected meanwhile: so it takes two equal reads."""
        before, found = self._read_children(), self._read_children()
        for _ in range(MOST_READS):
            if found == before:
                break
            before, found = found, self._read_children()
        return found

    def _read_children(self) -> set[int]:
        found: set[int] = set()
        with suppress(OSError):  # the keeper has gone
            for task in self._tasks.iterdir():
                with suppress(OSError):  # or one of its threads
                    found.update(map(int, (task / "children").read_bytes().split()))
        return found

    def _hold(self, pid: int) -> None:
        with suppress(OSError):  # it ended a moment ago, or there are no descriptors left for it
            self._held[pid] = os.pidfd_open(pid)
            self._poll.register(self._held[pid], select.EPOLLIN)
