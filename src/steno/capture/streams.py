"""Which way each stream takes, so that the command finds what it would find bare; and the bytes on it.

A terminal stays a terminal, a pipe a pipe; stdout and stderr that lead to one place share one way, or their
order would be lost. What we took of a shared stdin and the command did not is put back where that can be
exact; output of processes that outlive the command is passed on by a process of its own.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import stat
import struct
import termios
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from steno.capture.launcher import Descriptors, close_all_but
from steno.capture.terminal import (
    PseudoTerminal,
    UserTerminal,
    controlling_terminal,
    open_once_more,
    open_pseudo_terminal,
)
from steno.errors import CaptureError
from steno.evidence import layout

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


_RECORD = struct.Struct("<QBI")
_TAPES = {1: layout.STDOUT, 2: layout.STDERR}
MAX_LENGTH = 1 << 20


class SplitReader:
    def __init__(self, observe: Callable[[str, int, bytes], None]) -> None:
        self._observe = observe
        self._rest = b""
        self.damaged = False

    def feed(self, data: bytes) -> None:
        if self.damaged:
            return
        data = self._rest + data if self._rest else data
        start = 0
        while len(data) - start >= _RECORD.size:
            mono_ns, stream, length = _RECORD.unpack_from(data, start)
            tape = _TAPES.get(stream)
            if tape is None or length > MAX_LENGTH:
                self.damaged = True
                return
            end = start + _RECORD.size + length
            if end > len(data):
                break
            self._observe(tape, mono_ns, data[start + _RECORD.size : end])
            start = end
        self._rest = data[start:]


_READ_SIZE = 65536

Way = tuple[int, int]


def leave_a_drain(ways: Sequence[Way]) -> None:
    """Fork twice, so that nobody has to wait for it. Other threads may run: it only calls the kernel."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _drain(dict(ways))
    finally:
        os._exit(0)


def _drain(ways: dict[int, int]) -> None:
    close_all_but(*ways, *ways.values())
    poller = select.poll()
    for source in ways:
        poller.register(source, select.POLLIN)
    while ways:
        for source, _ in poller.poll():
            if not _move(source, ways[source]):
                poller.unregister(source)
                os.close(source)
                del ways[source]


def _move(source: int, sink: int) -> bool:
    try:
        data = os.read(source, _READ_SIZE)
        view = memoryview(data)
        while view:
            view = view[os.write(sink, view) :]
    except OSError:
        return False
    return bool(data)


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
        content = _read_all(relay) + held + _read_all(source)
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


def _read_all(fd: int) -> bytes:
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


class Outlet(NamedTuple):
    """One way out of the command: the tape it is recorded on, where we read, where the user reads."""

    tape: str
    source: int
    sink: int | None


class Inlet(NamedTuple):
    """One way in: where we read, what the command reads from, and whether that is its terminal."""

    source: int
    sink: int
    is_terminal: bool


class Wiring(NamedTuple):
    command: Descriptors
    terminal: PseudoTerminal | None
    user: UserTerminal | None
    outlets: list[Outlet]
    inlets: list[Inlet]
    stdin: str  # "pty", "relayed", "inherited" or "closed"
    streams: str  # "separate", "merged", or "split": merged for the user, told apart by the observer
    given_away: list[int]  # descriptors that only the command needs
    split: int | None = None  # where the observer tells who wrote what on the terminal
    split_out: int | None = None  # its end of that pipe

    @property
    def recorded(self) -> list[str]:
        """The streams whose bytes will be recorded."""
        tapes = {outlet.tape for outlet in self.outlets}
        if self.split is not None:
            tapes |= {layout.STDOUT, layout.STDERR}
        if self.inlets:
            tapes.add(layout.STDIN)
        return [tape for tape in layout.TAPES if tape in tapes]

    @property
    def kind(self) -> str:
        return "pty" if self.terminal else "pipes"


def wire(wish: str, *, split: bool = False, shown: bool = True) -> Wiring:
    """`split`: an observer will tell who writes what on the terminal. `shown`: the user sees it."""
    user_fd = controlling_terminal() if wish != "never" else None
    use_terminal = wish == "always" or (
        wish == "auto" and is_open(1) and os.isatty(1) and user_fd is not None
    )
    if not use_terminal:
        return _wire_pipes()
    user = UserTerminal(user_fd) if user_fd is not None else None
    try:
        return _wire_terminal(
            open_pseudo_terminal(user), user, everything=wish == "always", split=split, shown=shown
        )
    except OSError as error:
        raise CaptureError(
            f"no pseudo-terminal can be opened: {error.strerror}",
            hint="record through pipes with --pty never",
        ) from error


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return fd not in _closed_at_start


_closed_at_start: set[int] = set()


def guard_standard_descriptors() -> None:
    """Called once, first of all: a closed 0, 1 or 2 must not become one of our own files.

    What is written to a closed stdout still fails, as it would; messages for a closed stderr are for nobody.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            flags = os.O_RDONLY if fd == 1 else os.O_RDWR
            os.open(os.devnull, flags)  # takes the lowest free number, which is this one
            _closed_at_start.add(fd)


def _wire_terminal(
    pty: PseudoTerminal, user: UserTerminal | None, *, everything: bool, split: bool, shown: bool
) -> Wiring:
    plan = _Plan()
    stdout_sink = 1 if shown and is_open(1) else None
    apart = not everything and is_open(2) and not os.isatty(2)
    plan.outlets.append(Outlet(layout.STDOUT if apart else layout.OUTPUT, pty.master, stdout_sink))
    stderr = plan.pipe_out(layout.STDERR, 2) if apart else pty.slave
    if not everything and not (is_open(0) and os.isatty(0)):
        stdin = plan.stdin_from_elsewhere()
        if user is not None:
            plan.inlets.append(Inlet(user.fd, pty.master, is_terminal=True))
    else:
        stdin, plan.stdin = pty.slave, "pty"
        if user is None or (is_open(0) and not os.isatty(0)):
            user = None  # the keys of the user's terminal are not ours to read: the input is elsewhere
            plan.inlets.append(Inlet(0, pty.master, is_terminal=True))
        else:
            plan.inlets.append(Inlet(user.fd, pty.master, is_terminal=True))
    command = Descriptors(stdin, pty.slave, stderr)
    if split and not apart:
        return _split(plan.wiring(command, terminal=pty, user=user, streams="split"), pty)
    return plan.wiring(command, terminal=pty, user=user, streams="separate" if apart else "merged")


def _split(wiring: Wiring, pty: PseudoTerminal) -> Wiring:
    """Each stream that is the terminal becomes an open file of its own."""
    opened = [open_once_more(pty) if fd == pty.slave else fd for fd in wiring.command]
    told, telling = os.pipe()
    os.set_blocking(told, False)
    ours = [fd for fd, found in zip(opened, wiring.command, strict=True) if fd is not None and fd != found]
    return wiring._replace(
        command=Descriptors(*opened),
        given_away=[*wiring.given_away, *ours, telling],
        split=told,
        split_out=telling,
    )


def _wire_pipes() -> Wiring:
    plan = _Plan()
    stdin = plan.stdin_from_elsewhere()
    if is_open(1) and is_open(2) and _lead_to_one_place(1, 2):
        both = plan.pipe_out(layout.OUTPUT, 1)
        return plan.wiring(Descriptors(stdin, both, both), terminal=None, user=None, streams="merged")
    stdout = plan.pipe_out(layout.STDOUT, 1) if is_open(1) else None
    stderr = plan.pipe_out(layout.STDERR, 2) if is_open(2) else None
    return plan.wiring(Descriptors(stdin, stdout, stderr), terminal=None, user=None, streams="separate")


class _Plan:
    def __init__(self) -> None:
        self.outlets: list[Outlet] = []
        self.inlets: list[Inlet] = []
        self.stdin = "closed"
        self._given_away: list[int] = []

    def pipe_out(self, tape: str, sink: int) -> int:
        read, write = os.pipe()
        os.set_blocking(read, False)
        self.outlets.append(Outlet(tape, read, sink))
        self._given_away.append(write)
        return write

    def stdin_from_elsewhere(self) -> int | None:
        """A pipe or socket is relayed and recorded; a file or a device is passed on as it is.

        Reading ahead in a file would move an offset that the user's next command shares.
        """
        if not is_open(0):
            return None
        kind = os.fstat(0).st_mode
        if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
            self.stdin = "inherited"
            return 0
        read, write = os.pipe()
        os.set_blocking(write, False)
        self.inlets.append(Inlet(0, write, is_terminal=False))
        self.stdin = "relayed"
        self._given_away.append(read)
        return read

    def wiring(
        self,
        command: Descriptors,
        *,
        terminal: PseudoTerminal | None,
        user: UserTerminal | None,
        streams: str,
    ) -> Wiring:
        return Wiring(
            command, terminal, user, self.outlets, self.inlets, self.stdin, streams, self._given_away
        )  # fmt: skip


def _lead_to_one_place(first: int, second: int) -> bool:
    one, other = os.fstat(first), os.fstat(second)
    if (one.st_dev, one.st_ino) != (other.st_dev, other.st_ino):
        return False
    return one.st_rdev != Path(os.devnull).stat().st_rdev  # nobody sees an order in /dev/null
