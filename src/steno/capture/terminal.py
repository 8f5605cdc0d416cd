"""Terminals: the user's own, and the pseudo-terminal the command runs on.

The user's terminal is only touched while we are in its foreground: a background job that changes modes
would be stopped.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import tty
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

_SIZE = struct.Struct("HHHH")
_OUTPUT_FLAGS = 1
_LOCAL_FLAGS = 3
_OPEN_PEER = 0x5441  # TIOCGPTPEER, which Python does not name
_CONTROL_CHARACTERS = 6


class Size(NamedTuple):
    cols: int
    rows: int


DEFAULT_SIZE = Size(80, 24)


def size_of(fd: int) -> Size:
    rows, cols, _, _ = _SIZE.unpack(fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(_SIZE.size)))
    return Size(cols, rows)


def set_size(fd: int, size: Size) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, _SIZE.pack(size.rows, size.cols, 0, 0))


class InputMode(Enum):
    """How a terminal takes what is typed now."""

    SHOWN = "shown"
    HIDDEN_LINE = "hidden line"  # no echo, line by line: a password prompt
    KEY_BY_KEY = "key by key"  # no echo, raw: the program shows what it likes


def input_mode(master: int) -> InputMode:
    flags = termios.tcgetattr(master)[_LOCAL_FLAGS]
    if flags & termios.ECHO:
        return InputMode.SHOWN
    return InputMode.HIDDEN_LINE if flags & termios.ICANON else InputMode.KEY_BY_KEY


def end_of_input(master: int) -> bytes:
    """The character that means end of file on this terminal now (Control-D, unless it was changed)."""
    character = termios.tcgetattr(master)[_CONTROL_CHARACTERS][termios.VEOF]
    return character if isinstance(character, bytes) else bytes([character])


class PseudoTerminal(NamedTuple):
    master: int
    slave: int


def open_pseudo_terminal(model: UserTerminal | None) -> PseudoTerminal:
    """A new terminal with the modes and the size of the user's one."""
    master, slave = os.openpty()
    if model is not None:
        termios.tcsetattr(slave, termios.TCSANOW, model.modes)
    set_size(slave, model.size() if model else DEFAULT_SIZE)
    os.set_blocking(master, False)
    return PseudoTerminal(master, slave)


def open_once_more(pty: PseudoTerminal) -> int:
    """The command's side as an open file of its own: copies of it can be told from copies of another."""
    return fcntl.ioctl(pty.master, _OPEN_PEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)


class UserTerminal:
    """The terminal in front of the user. `foreground` follows the job control of the user's shell."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.modes = termios.tcgetattr(fd)
        self.foreground = False
        self._is_lent = False
        self._size = DEFAULT_SIZE

    def size(self) -> Size:
        with suppress(OSError):  # a closed window keeps the size it had
            size = size_of(self.fd)
            if size.cols and size.rows:
                self._size = size
        return self._size

    def enter(self) -> bool:
        """Hand every key through unchanged, if this is our turn in the foreground."""
        if not self._our_turn():
            self.foreground = False
            return False
        if not self.foreground:
            self.modes = termios.tcgetattr(self.fd)
            tty.setraw(self.fd, termios.TCSADRAIN)
            self.foreground = True
        return True

    def lend(self) -> None:
        """Keys wait for the shell and Control-C is a signal again. What is still shown stays as it is: its
        lines have got their ends on the command's terminal."""
        if self.foreground:
            modes = list(self.modes)
            modes[_OUTPUT_FLAGS] &= ~termios.OPOST
            modes[_LOCAL_FLAGS] &= ~termios.ECHO
            self.foreground = False
            self._is_lent = True
            self._set(modes)

    def leave(self) -> None:
        if self.foreground or (self._is_lent and self._our_turn()):
            self._set(self.modes)
        self.foreground = self._is_lent = False

    def _set(self, modes: list[Any]) -> None:
        with suppress(termios.error):  # the terminal itself may be gone: a closed window
            termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)

    def _our_turn(self) -> bool:
        try:
            return os.tcgetpgrp(self.fd) == os.getpgrp()
        except OSError:
            return False


def controlling_terminal() -> int | None:
    """A descriptor of the terminal in front of the user, if there is one."""
    if os.isatty(0):
        return 0
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
