"""Input that we took and the command did not: put back where it came from, where that can be exact.

In: our stdin (a pipe), the pipe we relayed it into, and what we still hold. Out: how many bytes were left,
and whether they are back. A shell loop such as `list | while read x; do steno run -- cmd; done` shares one
pipe among many commands; taking its rest away would end the loop. Bytes can go back only to the end of a
pipe, so this is done only when its writer is gone and all that is in it can be written again behind them.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
import struct
import termios
from typing import NamedTuple


class Unread(NamedTuple):
    left: int
    given_back: bool


def return_unread(source: int, relay: int, held: bytes) -> Unread:
    """`relay` is either end of the command's stdin: a pipe tells and yields its content at both."""
    count = pipe_bytes(relay) + len(held)
    if count == 0:
        return Unread(0, given_back=True)
    if not stat.S_ISFIFO(os.fstat(source).st_mode) or not _writer_is_gone(source):
        return Unread(count, given_back=False)
    if count + pipe_bytes(source) > fcntl.fcntl(source, fcntl.F_GETPIPE_SZ):
        return Unread(count, given_back=False)
    try:
        content = _drain(relay) + held + _drain(source)
        _write_back(source, content)
    except OSError:
        return Unread(count, given_back=False)
    return Unread(count, given_back=True)


def pipe_bytes(fd: int) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))
    return int(count)


def _writer_is_gone(source: int) -> bool:
    poller = select.poll()
    poller.register(source, 0)
    return any(events & select.POLLHUP for _, events in poller.poll(0))


def open_reader(pipe: int) -> int:
    """The reading end of a pipe of which we may hold only the writing end."""
    return os.open(f"/proc/self/fd/{pipe}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _drain(fd: int) -> bytes:
    reader = open_reader(fd)
    parts = []
    try:
        while part := os.read(reader, 1 << 20):
            parts.append(part)
    except BlockingIOError:
        pass  # empty, and its writer (ourselves, perhaps) is still there
    finally:
        os.close(reader)
    return b"".join(parts)


def _write_back(source: int, content: bytes) -> None:
    writer = os.open(f"/proc/self/fd/{source}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(writer, view) :]
    finally:
        os.close(writer)
