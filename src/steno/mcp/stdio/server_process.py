"""The server that a wrap starts: its pipes, the signals it gets, and how it is made to end. Never waits.

It is asked to end by the end of its input, then by SIGTERM; its whole process group is killed when that
does not help.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from steno.capture.procfs import process_key
from steno.capture.signals import Command
from steno.errors import StenoError
from steno.evidence.linux_numbers import signal_name

# A server that does not end with its input gets SIGTERM; one that does not end with SIGTERM is killed.
# Clients kill us two seconds after their own SIGTERM, so the server has to be gone by then.
UNTIL_TERM = 5.0
UNTIL_KILL = 1.5


class ServerNotStartedError(StenoError):
    """There is no server to stand before."""

    exit_code = 126


class ServerNotFoundError(ServerNotStartedError):
    """Its program is not there."""

    exit_code = 127


class ExitStatus(NamedTuple):
    code: int | None
    number: int | None = None  # of the signal that ended it

    @property
    def signal(self) -> str | None:
        return None if self.number is None else signal_name(self.number)

    @property
    def status(self) -> int:
        """As a shell says it."""
        return 128 + self.number if self.number is not None else self.code or 0


class ServerProcess:
    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=dict(environ),
                process_group=0,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            raise _not_started(words[0], error) from error
        self._pid = self._process.pid
        self.key = process_key(self._pid)
        self.exit: ExitStatus | None = None
        self.ended = os.pidfd_open(self._pid)  # readable once it has
        self._command = Command(self._pid)
        self._signals: list[tuple[float, signal.Signals]] = []  # when to send what, the next one first

    @property
    def stdin(self) -> int:
        return _pipe(self._process.stdin).fileno()

    @property
    def stdout(self) -> int:
        return _pipe(self._process.stdout).fileno()

    def close_stdin(self) -> None:
        _pipe(self._process.stdin).close()

    def send(self, number: int) -> None:
        """Pass a signal on. What is told to end is given a moment for it, as whoever told us gives us one."""
        self._command.send(number)
        if number == signal.SIGTERM:
            self._signals = [(time.monotonic() + UNTIL_KILL, signal.SIGKILL)]

    def terminate(self) -> None:
        """Its input has ended: it should go by itself."""
        if not self._signals and self.exit is None:
            term = time.monotonic() + UNTIL_TERM
            self._signals = [(term, signal.SIGTERM), (term + UNTIL_KILL, signal.SIGKILL)]

    def kill(self) -> None:
        # It was not waited for yet, so its number is still that of this group and of no other.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)

    @property
    def next_signal_at(self) -> float | None:
        return self._signals[0][0] if self._signals and self.exit is None else None

    def send_due_signal(self) -> None:
        at = self.next_signal_at
        if at is None or at > time.monotonic():
            return
        _, number = self._signals.pop(0)
        if number == signal.SIGKILL:
            self.kill()
        else:
            self._command.send(number)

    def poll(self) -> ExitStatus | None:
        """How it ended; None: it has not."""
        if self.exit is None:
            found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                by_itself = found.si_code == os.CLD_EXITED
                self.exit = ExitStatus(found.si_status) if by_itself else ExitStatus(None, found.si_status)
        return self.exit

    def close(self) -> None:
        """It has ended, or is killed now."""
        if self.poll() is None:
            self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()
        os.close(self.ended)
        self._command.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("started without pipes")
    return pipe


def _not_started(name: str, error: OSError | ValueError) -> ServerNotStartedError:
    if isinstance(error, ValueError):
        return ServerNotStartedError(f"cannot start {name}: {error}", hint="a word may not hold a NUL")
    if error.errno == errno.ENOENT:
        return ServerNotFoundError(f"cannot start {name}: {error.strerror}", hint="check the name and PATH")
    return ServerNotStartedError(
        f"cannot start {name}: {error.strerror}", hint="check that it is an executable file"
    )
