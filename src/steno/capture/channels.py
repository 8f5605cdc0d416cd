"""Channels: one direction of bytes from a source to a sink, never reading more than the sink can take.

In: descriptors. Out: bytes moved, and an observer told of each piece as it was read. A channel keeps what
its sink has not taken yet and asks for no more until that is gone, so memory stays flat and a slow reader
slows the command as it would without us. Sinks that are not ours are never switched to non-blocking: they
are shared with the user's other programs.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Callable

READ_SIZE = 65536
# POLLOUT on a pipe promises room for this much and no more; a larger write could block on it.
PIPE_PROMISE = select.PIPE_BUF

PAGES_AT_ONCE = 15

Watch = tuple[int, int]


class Channel:
    """`sink` None drops nothing of the record: the bytes are observed and go nowhere."""

    def __init__(
        self,
        name: str,
        source: int,
        sink: int | None,
        observe: Callable[[bytes], None],
        *,
        observe_first: bool = False,
    ) -> None:
        self.name = name
        self.source: int | None = source
        self.sink = sink
        self.broken: OSError | None = None  # why the sink went away
        self.taken = 0  # bytes read so far
        self._observe = observe
        self._observe_first = observe_first
        self._backlog = b""
        self._may_block = sink is not None and _may_block(sink)
        self._never_waits = not os.get_blocking(source)

    @property
    def ended(self) -> bool:
        return self.source is None and not self.stalled

    @property
    def stalled(self) -> bool:
        return bool(self._backlog) and self.sink is not None

    @property
    def backlog(self) -> bytes:
        """What was read and has not reached the sink."""
        return self._backlog

    def wants(self) -> Watch | None:
        if self._backlog and self.sink is not None:
            return self.sink, select.POLLOUT
        return (self.source, select.POLLIN) if self.source is not None else None

    def move(self) -> bool:
        """Do what poll said can be done now; says whether anything moved."""
        if self._backlog and self.sink is not None:
            return self._write()
        moved = self._read()
        if self._never_waits:  # a flood comes a page at a time: asking again costs less than polling for it
            for _ in range(PAGES_AT_ONCE):
                if self._backlog or not self._read():
                    break
        return moved

    def push(self, data: bytes) -> None:
        """Give the sink something that did not come from the source."""
        self._backlog += data

    def stop_reading(self) -> None:
        self.source = None

    def _read(self) -> bool:
        if self.source is None:
            return False
        data = read_available(self.source)
        if data is None:
            return False
        if not data:
            self.source = None
            return True
        self.taken += len(data)
        if self._observe_first:  # what is typed is judged by the state of the terminal before it is taken
            self._observe(data)
        if self.sink is not None:
            self._backlog = data
            if not self._may_block:
                self._write()
        if not self._observe_first:  # the reader and the command go on while we look at it
            self._observe(data)
        return True

    def _write(self) -> bool:
        if self.sink is None:
            return False
        piece = self._backlog[:PIPE_PROMISE] if self._may_block else self._backlog
        try:
            written = os.write(self.sink, piece)
        except BlockingIOError:
            return False
        except OSError as error:
            self.broken = error
            self.sink = None
            return True
        self._backlog = self._backlog[written:]
        return True


class Poller:
    """poll(2) that is told only what has changed since the last time; that is mostly nothing."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._watched: dict[int, int] = {}

    def poll(self, watched: dict[int, int], timeout_ms: float) -> dict[int, int]:
        if watched != self._watched:
            for fd in self._watched.keys() - watched.keys():
                self._poll.unregister(fd)
            for fd, events in watched.items():
                self._poll.register(fd, events)
            self._watched = watched
        return dict(self._poll.poll(timeout_ms))


def _may_block(sink: int) -> bool:
    """A pipe or socket of the user's, where only poll can say that a write will not wait."""
    kind = os.fstat(sink).st_mode
    return (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)) and os.get_blocking(sink)


def read_available(source: int) -> bytes | None:
    """What is there now; b"" at the end; None when there is nothing yet."""
    try:
        return os.read(source, READ_SIZE)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.EIO:  # a pseudo-terminal that nobody holds any more, or one that is gone
            return b""
        raise
