"""Signals that the recorder gets, passes on to the command, or keeps from itself for a while.

The command is reached through a handle that cannot reach another process. A signal that was ignored when we
started stays ignored.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

# The rest does not end a process, cannot be caught, or tells of a fault of our own.
_OTHERS = {
    signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
    signal.SIGCHLD, signal.SIGWINCH, signal.SIGURG, signal.SIGPIPE, signal.SIGXFSZ,
    signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS,
    signal.SIGABRT,
}  # fmt: skip
FORWARDED = tuple(sorted(signal.valid_signals() - _OTHERS))


# The C library keeps these two for itself, and lets nobody change what becomes of them; the kernel does.
_OF_THE_LIBRARY = (32, 33)
_RT_SIGACTION = {"x86_64": 13, "aarch64": 134}  # elsewhere nothing can be asked of the kernel by number
_DEFAULT, _IGNORE = 0, 1
_STRUCT_WORDS, _MASK_BYTES = 4, 8  # handler, flags, restorer, mask


def _action(number: int, handler: int | None = None) -> int:
    """What becomes of a signal, and from now on `handler`."""
    call = _RT_SIGACTION.get(platform.machine())
    if call is None:
        return _IGNORE
    found = (ctypes.c_uint64 * _STRUCT_WORDS)()
    new = None if handler is None else ctypes.byref((ctypes.c_uint64 * _STRUCT_WORDS)(handler))
    ctypes.CDLL(None).syscall(call, number, new, ctypes.byref(found), _MASK_BYTES)
    return found[0]


@cache
def ignore_library_signals() -> tuple[int, ...]:
    """One that the command sends to its group must not end us. Returns those that are to end the command."""
    ended_by = [number for number in _OF_THE_LIBRARY if _action(number) == _DEFAULT]
    for number in ended_by:
        _action(number, _IGNORE)
    return tuple(n for n in _OF_THE_LIBRARY if n in ended_by or _action(n) != _IGNORE)


def end_by(numbers: Iterable[int]) -> None:
    for number in numbers:
        _action(number, _DEFAULT)


class SignalPipe:
    """Signals as bytes in a pipe, so that the loop meets them in order with everything else."""

    _WATCHED = (*FORWARDED, signal.SIGWINCH, signal.SIGCONT)

    def __init__(self) -> None:
        self.fd, self._write = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write, False)
        self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._before = {
            number: signal.signal(number, lambda *_: None)
            for number in self._WATCHED
            if signal.getsignal(number) is not signal.SIG_IGN
        }

    def read(self) -> list[int]:
        try:
            return list(os.read(self.fd, 512))
        except BlockingIOError:
            return []

    def close(self) -> None:
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.fd)
        os.close(self._write)


class default_action:  # noqa: N801 - reads as a verb where it is used
    def __init__(self, number: signal.Signals) -> None:
        self._number = number

    def __enter__(self) -> None:
        self._before = signal.signal(self._number, signal.SIG_DFL)

    def __exit__(self, *_: object) -> None:
        signal.signal(self._number, self._before)


class Command:
    """The running command, held so that a signal can never reach a later process with its number."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        try:
            self._pidfd: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._pidfd = None  # it ended a moment ago; its status is on the way

    def send(self, number: int) -> bool:
        """Whether it could be sent: the command may have ended, or have become another user."""
        if self._pidfd is None:
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def continue_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # likewise
            os.killpg(self._pid, signal.SIGCONT)

    def close(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)


def in_foreground() -> bool:
    try:
        fd = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(fd)


_NOT_NOW = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


@contextmanager
def ignore_signals() -> Iterator[list[int]]:
    """A second Control-C must not cost the record its seal. Yields those not ignored before."""
    found = {number: signal.signal(number, signal.SIG_IGN) for number in _NOT_NOW}
    try:
        yield [number for number, handler in found.items() if handler is not signal.SIG_IGN]
    finally:
        for number, handler in found.items():
            signal.signal(number, handler)


@contextmanager
def defer_signals() -> Iterator[list[int]]:
    """The signals that came and would be passed on; one that was ignored before stays ignored."""
    came: list[int] = []
    found = {number: signal.getsignal(number) for number in FORWARDED}
    kept = {number: handler for number, handler in found.items() if handler is not signal.SIG_IGN}
    for number in kept:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
