"""The decision log: where a proxy tells what it decided, before it acts on it.

In: lines of `steno.evidence.intake`. Out: the same lines, appended to the intake of the run that we are part
of, to the file that --log names, to both or to none. What cannot be written is a `JournalError`, unless the
log was said to be optional. Never reads a log; what is in a line was masked by whoever made it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property

from steno.capture.telling import Intake, Log
from steno.errors import StenoError
from steno.evidence import intake
from steno.mcp.ancestry import find_run
from steno.mcp.arguments import Masker
from steno.mcp.stderr import say

OUTSIDE = "outside-of-a-run"  # in place of a run's id


class JournalError(StenoError):
    """A decision cannot be written down, so it is not acted upon."""


class Journal:
    """May be used by several threads: a line is one write."""

    def __init__(
        self,
        logs: list[Log],
        *,
        environ: Mapping[str, str],
        run: Intake | None = None,
        optional: bool = False,
    ) -> None:
        self.run_id = run.run_id if run else OUTSIDE
        self._environ = environ
        self._origin_ns = run.origin_ns if run else 0
        self._logs = logs
        self._torn = [False] * len(logs)
        self._optional = optional

    @staticmethod
    def open(environ: Mapping[str, str], log_path: str | None = None, *, optional: bool = False) -> Journal:
        run = find_run(environ)
        wanted: list[tuple[str, Callable[[], Log]]] = []
        if run is not None:
            wanted.append((run.folder, run.policy_log))
        if log_path is not None:
            wanted.append((log_path, lambda: Log(log_path)))
        opened: list[Log] = []
        for place, opening in wanted:
            try:
                opened.append(opening())
            except OSError as error:
                if not optional:
                    raise _unwritable(place, error) from error
                say(str(_unwritable(place, error)))
        return Journal(opened, environ=environ, run=run, optional=optional)

    @cached_property
    def masker(self) -> Masker:
        return Masker(self._environ)

    @property
    def is_kept(self) -> bool:
        """Whether anybody is told anything."""
        return bool(self._logs)

    def now(self) -> int:
        return time.monotonic_ns() - self._origin_ns

    def told(self, *lines: intake.PolicyTold) -> None:
        """All of them in one write to each log."""
        if not self._logs:
            return
        data = b"".join(map(intake.write, lines))
        for position, log in enumerate(self._logs):
            try:
                # A write that failed may have left half a line: what comes next must not become part of it.
                log.append(b"\n" + data if self._torn[position] else data)
                self._torn[position] = False
            except OSError as error:
                if not self._torn[position]:
                    say(f"cannot write decisions: {error.strerror}")
                self._torn[position] = True
                if not self._optional:
                    raise _unwritable("the decision log", error) from error

    def close(self) -> None:
        for log in self._logs:
            log.close()


def _unwritable(place: str, error: OSError) -> JournalError:
    return JournalError(
        f"cannot write decisions to {place}: {error.strerror}",
        hint="make room or give the permission; --log-optional goes on without a record of decisions",
    )
