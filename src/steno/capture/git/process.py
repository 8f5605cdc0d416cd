"""Runs git as a child that cannot be configured by what it looks at.

A child gets an environment made from nothing, no terminal, no standard input but ours, and a deadline. No
GIT_ variable of the caller is passed on: the repository is the one that the directory lies in, whatever
GIT_DIR says.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

import msgspec

from steno.capture.git.types import SnapshotFailedError
from steno.capture.host import find_trusted
from steno.evidence.linux_numbers import signal_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


TIMEOUT_SECONDS = 120.0
_LONG_SECONDS = 0.5  # few take longer; those get a guard
_STDERR_KEPT = 4096
_CHUNK = 1 << 16
_PASSED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH")
_USER_CONFIG = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_FIXED = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_OWN_CONFIG = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


_running: set[Child] = set()
_signals: list[int] = []  # that came while `ending_at` held: from the first on no git is waited for


@contextmanager
def ending_at(numbers: Iterable[int]) -> Iterator[None]:
    """While this holds, one of these signals ends the git that runs, and no other is started after it."""

    def give_up(number: int, _: object) -> None:
        _signals.append(number)
        for child in list(_running):
            child.kill()

    found = {number: signal.signal(number, give_up) for number in numbers}
    try:
        yield
    finally:
        for number, handler in found.items():
            signal.signal(number, handler)
        _signals.clear()


def _check_signals(name: str) -> None:
    if _signals:
        raise SnapshotFailedError("GIT_INTERRUPTED", f"git {name} was given up: {signal_name(_signals[0])}")


def _end_with_us() -> None:
    """From here on every git that runs ends with us: a guard reads from a pipe that only we can write to."""
    for child in list(_running):
        child.get_guard()


class Output(msgspec.Struct, frozen=True):
    stdout: bytes
    stderr: str


def find_git() -> str:
    """Return the absolute path of git, from where the command cannot have planted it."""
    program = find_trusted("git", os.environ.get("PATH", os.defpath))
    if program is None:
        raise SnapshotFailedError("GIT_MISSING", "git is not on PATH")
    return program


def environment(extra: Mapping[str, str], *, user_config: bool = False) -> dict[str, str]:
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    env.update(_FIXED)
    if user_config:
        env.update({name: os.environ[name] for name in _USER_CONFIG if name in os.environ})
    else:
        env.update(_OWN_CONFIG)
    env.update(extra)
    return env


class Git:
    """One git program, and one deadline at a time."""

    def __init__(self, program: str, scratch: Path) -> None:
        self.program = program
        self.scratch = scratch
        self.deadline = 0.0
        self.restart_clock()

    def restart_clock(self) -> None:
        self.deadline = time.monotonic() + TIMEOUT_SECONDS

    def run(
        self, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes | None = None
    ) -> Output:
        return self.start(args, cwd=cwd, env=env, with_stdin=stdin is not None).finish(stdin)

    def start(
        self, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], with_stdin: bool = False
    ) -> Child:
        return Child(self, args, cwd=cwd, env=env, with_stdin=with_stdin)

    def stream(self, args: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[bytes]:
        child = self.start(args, cwd=cwd, env=env)
        try:
            yield from child.chunks()
        finally:
            child.stop()


class Child:
    """A running git. Whoever starts one must `finish` or `stop` it."""

    def __init__(
        self, git: Git, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], with_stdin: bool
    ) -> None:
        self._git = git
        self._name = next((arg for arg in args if not arg.startswith("-") and "=" not in arg), "git")
        _check_signals(self._name)
        self._stderr: IO[bytes] = tempfile.TemporaryFile(dir=git.scratch)  # noqa: SIM115 - closed in stop()
        try:
            self.process = subprocess.Popen(
                [git.program, "--no-pager", *args],
                stdin=subprocess.PIPE if with_stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            missing_program = error.filename == git.program
            reason = "GIT_MISSING" if missing_program else "GIT_BROKEN"
            raise SnapshotFailedError(reason, f"git {self._name}: {error.strerror}") from error
        self._guard: subprocess.Popen[bytes] | None = None
        _running.add(self)
        if _signals:  # it came while this one was started
            self.kill()

    def finish(self, stdin: bytes | None = None) -> Output:
        try:
            stdout = self._communicate(stdin)
            self._check()
            return Output(stdout, self._complaint())
        except subprocess.TimeoutExpired:
            raise self._too_slow() from None
        finally:
            self.stop()

    def _communicate(self, stdin: bytes | None) -> bytes:
        try:
            return self.process.communicate(stdin, timeout=min(_LONG_SECONDS, self._remaining()))[0]
        except subprocess.TimeoutExpired:
            _end_with_us()
        return self.process.communicate(timeout=self._remaining())[0]

    def chunks(self) -> Iterator[bytes]:
        descriptor = self._stdout().fileno()
        while chunk := self.read_some(descriptor):
            yield chunk
        try:
            self.process.wait(self._remaining())
        except subprocess.TimeoutExpired:
            raise self._too_slow() from None
        self._check()

    def read_some(self, descriptor: int) -> bytes:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(min(_LONG_SECONDS, self._remaining()) * 1000):
            _end_with_us()
            if not poll.poll(self._remaining() * 1000):
                raise self._too_slow()
        return os.read(descriptor, _CHUNK)

    def get_guard(self) -> None:
        if self._guard is None:
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", "read -r _; kill -s KILL -- -$0", str(self.process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def kill(self) -> None:
        """End it with all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self) -> None:
        _running.discard(self)
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
        if self.process.poll() is None:
            self.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _stdout(self) -> IO[bytes]:
        if self.process.stdout is None:
            raise SnapshotFailedError("GIT_BROKEN", "git has no output")
        return self.process.stdout

    def _remaining(self) -> float:
        return max(0.0, self._git.deadline - time.monotonic())

    def _too_slow(self) -> SnapshotFailedError:
        return SnapshotFailedError("GIT_TIMEOUT", f"git {self._name} took longer than {TIMEOUT_SECONDS:g} s")

    def _check(self) -> None:
        _check_signals(self._name)
        if self.process.returncode != 0:
            detail = self._complaint() or f"exit status {self.process.returncode}"
            raise SnapshotFailedError("GIT_BROKEN", f"git {self._name}: {detail}")

    def _complaint(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read(_STDERR_KEPT).decode("utf-8", "backslashreplace").strip()
