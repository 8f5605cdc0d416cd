"""Which way each of the command's streams takes, so that the command finds what it would find bare.

In: our own descriptors 0, 1 and 2 and the user's wish (`auto`, `always`, `never`). Out: a `Wiring`: what
the command gets as 0, 1 and 2, and what we read and write in turn. A terminal stays a terminal, a pipe
stays a pipe. stdout and stderr that lead to one place share one way, or their order would be lost; an
observer can still tell them apart on a terminal, if each is an open file of its own.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from steno.capture.keeper import Descriptors
from steno.capture.terminal import (
    PseudoTerminal,
    UserTerminal,
    controlling_terminal,
    open_once_more,
    open_pseudo_terminal,
)
from steno.errors import CaptureError
from steno.evidence import layout


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
