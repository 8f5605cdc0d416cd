"""Starts the command below a small process of ours, which waits for it and tells how it ended.

On a terminal that process is the session leader, as a login shell would be, so that the end of the command
does not hang up the terminal under the processes it leaves behind. It stays until the recorder lets go of
it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import shutil
import signal
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from fcntl import ioctl
from itertools import pairwise
from resource import RUSAGE_SELF, getrusage
from termios import TIOCSCTTY
from typing import NamedTuple, NoReturn

from steno.capture.signals import FORWARDED, end_by
from steno.errors import CaptureError

_LIMITS = {name[7:]: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}
_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of linux/prctl.h


def close_to_others() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        why = os.strerror(ctypes.get_errno())
        raise CaptureError(
            f"the recorder cannot be closed to the command ({why})",
            hint="something on this machine refuses prctl(PR_SET_DUMPABLE)",
        )


def limits_of(pid: int) -> Mapping[str, tuple[int, int]]:
    """By their names, without `RLIMIT_`; none of a process that is gone."""
    try:
        return {name: resource.prlimit(pid, number) for name, number in _LIMITS.items()}
    except ProcessLookupError:
        return {}


_RECORD = struct.Struct("<Biqqqq")
_IGNORED = (*FORWARDED, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
# Python ignores these two at its start; the command must find them as any program does.
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)


_NEAR_KIB = 4096
_LOOK_SECONDS = 0.25  # how soon a launcher that was stopped is found


class EventKind(IntEnum):
    STARTED = 1
    NOT_STARTED = 2
    STOPPED = 3
    CONTINUED = 4
    ENDED = 5
    OBSERVED = 6  # the filter is in place; only from an observer
    RELEASED = 7  # its frames are whole; the last record
    PROBE = 8  # whether the eBPF probe is in place; before STARTED, where one is wanted


class ChildStatus(NamedTuple):
    """`value` is a pid, an errno, a signal, a wait status, a state or a number, as `what` says."""

    what: EventKind
    value: int
    user_us: int = 0
    system_us: int = 0
    max_rss_kib: int = 0  # 0: not known
    at_ns: int = 0  # of CLOCK_MONOTONIC: when the command started or ended; others do not tell


class Descriptors(NamedTuple):
    """What the command finds as 0, 1 and 2; None is a closed descriptor."""

    stdin: int | None
    stdout: int | None
    stderr: int | None


class Launcher(NamedTuple):
    pid: int
    status: int  # read end: records of the command's life
    control: int  # write end: closed when the launcher may go

    def read_records(self) -> Iterator[ChildStatus]:
        """What has arrived; an empty read means the launcher is gone."""
        data = os.read(self.status, _RECORD.size * 64)
        for what, *values in _RECORD.iter_unpack(data[: len(data) - len(data) % _RECORD.size]):
            yield ChildStatus(EventKind(what), *values)

    def end_outputs(self) -> None:
        """The reader of an output has gone: the command is to find that out, so nobody else may read it."""
        with suppress(BrokenPipeError):  # the launcher is gone
            os.write(self.control, b".")

    def keep_going(self) -> None:
        """Whoever stopped the launcher has stopped the command with it, and nobody else knows."""
        with suppress(ChildProcessError, ProcessLookupError):  # it has ended
            if os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is not None:
                os.kill(self.pid, signal.SIGCONT)

    def release(self) -> None:
        """Let it go. An observer stays on, unasked for, as long as processes live that need its answers."""
        os.close(self.control)
        survivors = 0
        while records := self._last_records():
            survivors = sum(record.value for record in records if record.what == EventKind.RELEASED)
        os.close(self.status)
        if not survivors:
            os.waitpid(self.pid, 0)

    def _last_records(self) -> list[ChildStatus]:
        while not select.select([self.status], [], [], _LOOK_SECONDS)[0]:
            self.keep_going()
        return list(self.read_records())


class Launch(NamedTuple):
    """What to run, and on what; `terminal` is the one that the command's session gets."""

    argv: Sequence[str]
    cwd: str
    environ: Mapping[str, str]
    on: Descriptors
    terminal: int | None
    ended_by: Sequence[int] = ()  # signals of the C library that we ignore, and the command does not


def launch(job: Launch) -> Launcher:
    status_read, status_write = os.pipe()
    control_read, control_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(status_read)
            os.close(control_write)
            _keep(job, status_write, control_read)
        finally:
            os._exit(70)
    os.close(status_write)
    os.close(control_read)
    return Launcher(pid, status_read, control_write)


def _keep(job: Launch, status: int, control: int) -> NoReturn:
    found = {number: signal.signal(number, signal.SIG_IGN) for number in _IGNORED}
    if job.terminal is not None:
        # A terminal that vanishes must end its session leader: only then does the kernel tell the command.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.setsid()
        ioctl(job.terminal, TIOCSCTTY, 0)
    failure_read, failure_write = os.pipe()
    command = os.fork()
    if command == 0:
        _become_command(job, found, failure_write)
    if job.terminal is None:
        os.setsid()  # signals to the command's group are not for us
    os.close(failure_write)
    close_all_but(status, control, failure_read)
    last_words = _read_to_end(failure_read)
    our_image_kib, failure = (int.from_bytes(word, "little") for word in (last_words[:8], last_words[8:]))
    if failure:
        os.waitpid(command, 0)
        _send(status, ChildStatus(EventKind.NOT_STARTED, failure))
    else:
        _send(status, ChildStatus(EventKind.STARTED, command, at_ns=time.monotonic_ns()))
        _watch(command, status, our_image_kib)
    if job.terminal is not None:
        _take_terminal_back()
    while os.read(control, 1):
        pass  # a word for keepers that hold the outputs
    os._exit(0)


def _become_command(job: Launch, found: Mapping[signal.Signals, object], failure: int) -> NoReturn:
    try:
        os.write(failure, getrusage(RUSAGE_SELF).ru_maxrss.to_bytes(8, "little"))
        if job.terminal is not None:
            os.setpgid(0, 0)
            os.tcsetpgrp(job.terminal, os.getpid())
        _place_descriptors(job.on)
        caught = [number for number in _IGNORED if found[number] is not signal.SIG_IGN]
        for number in (*caught, *RESTORED):
            signal.signal(number, signal.SIG_DFL)
        end_by(job.ended_by)
        os.chdir(job.cwd)
        _exec(list(job.argv), dict(job.environ))
    except OSError as error:
        os.write(failure, (error.errno or errno.EIO).to_bytes(8, "little"))
    finally:
        os._exit(127)


def _exec(argv: list[str], environ: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(argv[0], argv, environ)
    except OSError as error:
        script = shutil.which(argv[0], path=environ.get("PATH"))
        if error.errno != errno.ENOEXEC or script is None:
            raise
    # A script without an interpreter line: execvp(3) and every shell give it to sh.
    os.execve("/bin/sh", ["sh", script, *argv[1:]], environ)


def _place_descriptors(on: Descriptors) -> None:
    # Copies first, so that placing one cannot overwrite the source of another.
    sources = [None if fd is None else os.dup(fd) for fd in on]
    for target, source in enumerate(sources):
        if source is None:
            os.closerange(target, target + 1)
        else:
            os.dup2(source, target)


def _read_to_end(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 64):
        parts.append(part)
    return b"".join(parts)


def _watch(command: int, status: int, our_image_kib: int) -> None:
    while True:
        _, state, usage = os.wait4(command, os.WUNTRACED | os.WCONTINUED)
        if os.WIFSTOPPED(state):
            _send(status, ChildStatus(EventKind.STOPPED, os.WSTOPSIG(state)))
        elif os.WIFCONTINUED(state):
            _send(status, ChildStatus(EventKind.CONTINUED, 0))
        else:
            user_us, system_us = round(usage.ru_utime * 1e6), round(usage.ru_stime * 1e6)
            # The kernel's peak includes our own image before exec; near that it says nothing of the command.
            peak = usage.ru_maxrss if usage.ru_maxrss > our_image_kib + _NEAR_KIB else 0
            _send(status, ChildStatus(EventKind.ENDED, state, user_us, system_us, peak, time.monotonic_ns()))
            return


def _take_terminal_back() -> None:
    """As a shell does when a job ends: what the command left behind is now in the background."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return  # the terminal is gone already: there is nothing to take back
    try:
        os.tcsetpgrp(terminal, os.getpgrp())
    except OSError:
        return  # likewise
    finally:
        os.close(terminal)


def _send(status: int, record: ChildStatus) -> None:
    try:
        os.write(status, _RECORD.pack(*record))
    except BrokenPipeError:
        os._exit(0)  # the recorder is gone; the command goes on without us


def close_all_but(*kept: int) -> None:
    highest = os.sysconf("SC_OPEN_MAX")
    edges = [-1, *sorted(set(kept)), highest]
    for low, high in pairwise(edges):
        os.closerange(low + 1, high)
