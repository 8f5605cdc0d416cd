"""Reach many absolute paths by descriptors, without following a single link.

In: absolute paths, best in an order that keeps a directory's paths together. Out: the descriptor of the
directory above a path and the name in it, or why there is none. Descriptors are O_PATH: opening one has no
effect on what is there and cannot wait. Few are held at a time, however deep a path is.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

HELD = 16
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Directories:
    """The way down to the directory that was asked for last."""

    def __init__(self) -> None:
        self._names: list[bytes] = []
        self._fds = [os.open(b"/", _STEP)]  # one for the root and one for each of the first names
        self._deep = -1  # the end of the way, when it is longer than what is held

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._forget(0)
        os.close(self._fds.pop())

    def above(self, path: bytes) -> tuple[int, bytes]:
        """Raises OSError: NotADirectoryError also for a link, whatever it points to."""
        *names, name = path.split(b"/")[1:]
        if names != self._names:
            self._go(names)
        return (self._deep if self._deep >= 0 else self._fds[-1]), name

    def _go(self, names: list[bytes]) -> None:
        same = 0
        for old, new in zip(self._names, names, strict=False):
            if old != new:
                break
            same += 1
        self._forget(min(same, len(self._fds) - 1))
        for name in names[len(self._names) :]:
            fd = os.open(name, _STEP, dir_fd=self._deep if self._deep >= 0 else self._fds[-1])
            self._keep(fd)
            self._names.append(name)

    def _keep(self, fd: int) -> None:
        if len(self._fds) <= HELD:
            self._fds.append(fd)
            return
        if self._deep >= 0:
            os.close(self._deep)
        self._deep = fd

    def _forget(self, depth: int) -> None:
        """Keep the first `depth` names, all of which have a descriptor of their own."""
        if self._deep >= 0:
            os.close(self._deep)
            self._deep = -1
        while len(self._fds) - 1 > depth:
            os.close(self._fds.pop())
        del self._names[depth:]


def by_directory(path: bytes) -> bytes:
    """A sort key: what lies in a directory stays together."""
    return path.replace(b"/", b"\0")
