"""Tells the recorder of the run that we are part of: where its folder is, who we are, what time it is.

A log is opened without following a link, and a line is written at once or not at all. It is imported in no
time: a hook is started for every call of a tool.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from steno.capture.procfs import start_ticks
from steno.evidence import intake_names as intake


class Intake(NamedTuple):
    run_id: str
    folder: str
    origin_ns: int

    @staticmethod
    def of(environ: Mapping[str, str]) -> Intake | None:
        run_id, folder = environ.get(intake.RUN_ID), environ.get(intake.FOLDER)
        origin = environ.get(intake.ORIGIN_NS, "")
        if not run_id or not folder or not origin.isdecimal():
            return None
        return Intake(run_id, folder, int(origin))

    def now(self) -> int:
        """Nanoseconds since the run began, on the clock that every join uses."""
        return time.monotonic_ns() - self.origin_ns

    def log(self, name: str) -> Log:
        return Log(os.path.join(self.folder, name))  # noqa: PTH118 - hooks have a start-up budget

    def policy_log(self) -> Log:
        """The log of this process, which makes it: one that is there already is somebody else's."""
        pid = os.getpid()
        name = intake.policy_log(pid, start_ticks(pid) or 0)
        return Log(os.path.join(self.folder, name), new=True)  # noqa: PTH118 - as above


class Log:
    """A file that whole lines are appended to."""

    def __init__(self, path: str, *, new: bool = False) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        self._fd = os.open(path, flags | (os.O_EXCL if new else 0), 0o600)

    def append(self, line: bytes) -> None:
        """One write, so that lines of several writers never mix. What was not taken whole is an error."""
        if os.write(self._fd, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        os.close(self._fd)
