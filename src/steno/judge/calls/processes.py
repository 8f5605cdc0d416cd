"""The processes of a run, as far as calls are tied to them: who came of whom, and when.

Which of them are shells, which ran tests or a proxy of ours, and who touched the logs that programs of the
run tell us in. Memory grows with the number of processes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from math import inf
from typing import NamedTuple

from steno.evidence import intake_names
from steno.evidence.claims import ProcessKey
from steno.judge.calls.log_writers import LogWatch, our_program
from steno.judge.calls.test_runners import may_run_tests, runs_tests
from steno.judge.facts import RunFacts
from steno.judge.processes import processes
from steno.judge.scan import Reading
from steno.judge.types import Exec, Process

SHELLS = frozenset({b"sh", b"bash", b"dash", b"zsh", b"ksh", b"mksh", b"ash", b"fish", b"busybox"})
_MOST_AGENTS = 64  # for which all processes are looked through


class RunOfTests(NamedTuple):
    """A program was started that runs tests, or may."""

    process: int
    at_ns: int
    sure: bool


class Processes:
    def __init__(
        self, found: Iterable[Process] = (), logs: LogWatch | None = None, *, cwd: str = "/"
    ) -> None:
        """Those whose birth was seen; `cwd`: where the run began."""
        self.by_number = {one.process: one for one in found if one.pid is not None}
        self.logs = LogWatch("", None) if logs is None else logs
        self._cwd = cwd.encode("utf-8", "surrogateescape")
        self._shells: dict[int, tuple[list[int], list[float]]] = {}
        self._keys: dict[tuple[int | None, int | None], int | None] = {}  # None: two processes have it
        for one in self.by_number.values():
            key = one.pid, one.start_ticks
            self._keys[key] = None if key in self._keys else one.process

    @staticmethod
    def of_run(reading: Reading) -> Processes:
        cwd = reading.once(RunFacts.of).start.cwd
        return Processes(reading.once(processes), reading.scanned(LogWatch), cwd=cwd)

    @cached_property
    def tests(self) -> list[RunOfTests]:
        found = (
            (one, run, _tests_run(run, self._cwd)) for one in self.by_number.values() for run in _started(one)
        )
        return [RunOfTests(one.process, run.at_ns, sure) for one, run, sure in found if sure is not None]

    @property
    def writers(self) -> dict[str, dict[int, int]]:
        """For the log of the hooks: process -> when it first opened it to write, or changed it."""
        return {intake_names.HOOKS: self.logs.uses[intake_names.HOOKS].writers}

    def of(self, key: ProcessKey | None) -> Process | None:
        """The process with this key; one whose key another has too is nobody's."""
        number = None if key is None else self._keys.get((key.pid, key.start_ticks))
        return None if number is None else self.by_number.get(number)

    def line(self, number: int) -> Iterator[int]:
        """A process and its ancestors, as they were recorded when each was born."""
        met: set[int] = set()
        while number in self.by_number and number not in met:
            met.add(number)
            yield number
            number = self.by_number[number].parent or 0

    def nearest_common(self, one: int, other: int) -> int | None:
        """The nearest process that both come of."""
        above = set(self.line(one))
        return next((number for number in self.line(other) if number in above), None)

    def has_shell_below(self, root: int, at_ns: int) -> bool:
        """Whether a shell that came of this process was there at that time, or may have been."""
        if root not in self._shells and len(self._shells) >= _MOST_AGENTS:
            return True
        births, ends = self._shells_below(root)
        before = bisect_right(births, at_ns)
        return before > 0 and ends[before - 1] >= at_ns

    def _shells_below(self, root: int) -> tuple[list[int], list[float]]:
        """When they were born, in order, and up to each the latest end so far."""
        if root not in self._shells:
            found = sorted(
                (process.started_ns, inf if process.ended_ns is None else process.ended_ns)
                for process in self.by_number.values()
                if _is_shell(process) and process.process != root and root in self.line(process.process)
            )
            ends = accumulate((end for _, end in found), max)
            self._shells[root] = [birth for birth, _ in found], list(ends)
        return self._shells[root]

    def ran_another(self, number: int, at_ns: int, ours: str) -> bool:
        """Whether a process is seen to have been something else than this program of ours at that time."""
        for each in self.line(number):
            process = self.by_number[each]
            started = [run for run in _started(process) if run.at_ns <= at_ns]
            if started:
                return _ours(started[-1]) != ours
            at_ns = process.started_ns  # until then it was its parent
        return False


def lives_through(process: Process, start_ns: int, end_ns: int) -> bool:
    return process.started_ns <= start_ns and (process.ended_ns is None or process.ended_ns >= end_ns)


def _started(process: Process) -> Iterator[Exec]:
    return (one for one in process.execs if one.has_started)


def _is_shell(process: Process) -> bool:
    last = next((one for one in reversed(process.execs) if one.has_started), None)
    return last is not None and _base_name(last.executable_bytes) in SHELLS


def _ours(run: Exec) -> str:
    """Which program of ours it is, or ""."""
    return our_program(_base_name(run.executable_bytes), run.words or [b""])


def _tests_run(run: Exec, cwd: bytes) -> bool | None:
    """Whether it surely runs tests, or may; None: it runs none."""
    argv = run.words or [b""]
    names = {name for name in (run.executable_bytes, run.requested_bytes) if name}
    if runs_tests({*map(_base_name, names), _base_name(argv[0])}, argv):
        return True
    return False if not _ours(run) and may_run_tests(names, argv, cwd) else None


def _base_name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
