"""A descriptor that is written to without ever waiting for whoever reads it.

It may be shared with others, so its mode is not changed: a pipe that poll(2) calls writable takes PIPE_BUF
bytes at once, and a socket is asked not to wait. No byte is dropped while somebody reads.
"""

from __future__ import annotations

import os
import select
import socket
import stat
from collections import deque
from collections.abc import Callable

_BLOCK = 1 << 20


class NonBlockingWriter:
    """`own`: the descriptor is nobody else's, and does not block."""

    def __init__(self, fd: int, *, own: bool = False) -> None:
        self.fd = fd
        self.waiting = 0  # bytes
        self.is_broken = False
        self._queue: deque[tuple[memoryview, Callable[[], None] | None]] = deque()
        self._own = own
        self._socket = socket.socket(fileno=os.dup(fd)) if stat.S_ISSOCK(os.fstat(fd).st_mode) else None
        self._ready = select.poll()
        self._ready.register(fd, select.POLLOUT)

    def push(self, data: bytes, on_write: Callable[[], None] | None = None) -> None:
        """`on_write` is called before each try to write some of it, so the last time is before its end."""
        if data and not self.is_broken:
            self._queue.append((memoryview(data), on_write))
            self.waiting += len(data)
            self.flush()

    def flush(self) -> None:
        try:
            while self._queue and self._is_ready():
                data, on_write = self._queue[0]
                if on_write is not None:
                    on_write()
                self._took(self._write(data))
        except BlockingIOError:
            return
        except OSError:
            self.give_up()

    def give_up(self) -> None:
        """Whoever was to read it has gone."""
        self.is_broken = True
        self.waiting = 0
        self._queue.clear()

    def close(self) -> None:
        """The descriptor itself is left to whoever opened it."""
        self.give_up()
        if self._socket is not None:
            self._socket.close()

    def _is_ready(self) -> bool:
        if self._own or self._socket is not None:
            return True  # it says so itself
        return bool(self._ready.poll(0))

    def _write(self, data: memoryview) -> int:
        if self._own:
            return os.write(self.fd, data[:_BLOCK])
        if self._socket is not None:
            return self._socket.send(data[:_BLOCK], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        return os.write(self.fd, data[: select.PIPE_BUF])

    def _took(self, count: int) -> None:
        self.waiting -= count
        first, on_write = self._queue[0]
        if count == len(first):
            self._queue.popleft()
        else:
            self._queue[0] = first[count:], on_write
