"""The processes of a run, as far as calls are tied to them: who came of whom, and when.

Which of them are shells, which ran tests or a proxy of ours, and who touched the logs that programs of the
run tell us in. Memory grows with the number of processes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from math import inf
from typing import ClassVar, NamedTuple, Self

from steno.evidence import intake_names
from steno.evidence.claims import ProcessKey
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch
from steno.judge.calls.log_writers import COLUMNS as LOG_COLUMNS
from steno.judge.calls.log_writers import LogWatch, our_program
from steno.judge.calls.test_runners import may_run_tests, runs_tests
from steno.judge.facts import RunFacts
from steno.judge.operations import has_failed
from steno.judge.scan import Reading

_TOLD = frozenset({"process", "exec", "exit"})
_PID_BITS = 32
_SIGNAL_BITS = 0x7F
_FIRST_SIGNAL = 128
SHELLS = frozenset({b"sh", b"bash", b"dash", b"zsh", b"ksh", b"mksh", b"ash", b"fish", b"busybox"})
_MOST_AGENTS = 64  # for which all processes are looked through


class Process:
    def __init__(self, number: int, born_ns: int, parent: int) -> None:
        self.number = number
        self.born_ns = born_ns
        self.parent = parent  # 0: not known
        self.ended_ns: int | None = None
        self.exit_code: int | None = None  # 128 and the signal for one that a signal ended
        self.is_shell = False
        self.programs: list[tuple[int, str]] = []  # when it started one, and which of ours that is, or ""

    def lives_through(self, start_ns: int, end_ns: int) -> bool:
        return self.born_ns <= start_ns and (self.ended_ns is None or self.ended_ns >= end_ns)


class RunOfTests(NamedTuple):
    """A program was started that runs tests, or may."""

    process: int
    at_ns: int
    sure: bool


class Processes:
    columns: ClassVar[tuple[str, ...]] = (*LOG_COLUMNS, "arg2")
    whole: ClassVar[bool] = True

    @classmethod
    def begin(cls, layers: Layers) -> Self:
        facts = Reading.of(layers).once(RunFacts.of)
        found = cls(facts.start.cwd)
        found.logs = LogWatch(layers.run_id, facts.intake_logs)
        return found

    def __init__(self, cwd: str = "/") -> None:
        """`cwd`: where the run began."""
        self._cwd = cwd.encode("utf-8", "surrogateescape")
        self.by_number: dict[int, Process] = {}
        self.tests: list[RunOfTests] = []
        self.logs = LogWatch("", None)
        self._shells: dict[int, tuple[list[int], list[float]]] = {}
        self._keys: dict[tuple[int, int], int | None] = {}  # None: two processes have it

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
            number = self.by_number[number].parent

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
                (process.born_ns, inf if process.ended_ns is None else process.ended_ns)
                for process in self.by_number.values()
                if process.is_shell and process.number != root and root in self.line(process.number)
            )
            ends = accumulate((end for _, end in found), max)
            self._shells[root] = [birth for birth, _ in found], list(ends)
        return self._shells[root]

    def take(self, batch: RowBatch) -> None:
        self._take_processes(batch)
        self.logs.take(batch)

    def _take_processes(self, batch: RowBatch) -> None:
        if not (rows := batch.rows_of(_TOLD)):
            return
        columns = (
            batch.ops(rows),
            batch.numbers("mono_ns", rows),
            batch.numbers("process", rows),
            batch.numbers("arg", rows),
            batch.numbers("arg2", rows),
            batch.optional("result", rows),
            batch.texts("resolved", rows),
            batch.texts("path", rows),
            batch.texts("extra", rows),
        )
        for op, at_ns, number, arg, arg2, result, resolved, path, words in zip(*columns, strict=True):
            if op == "process":
                self._born(number, at_ns, arg, arg2)
            elif (process := self.by_number.get(number)) is None:
                continue
            elif op == "exit":
                process.ended_ns, process.exit_code = at_ns, _exit_code(arg)
            elif not has_failed(result):
                program = _base_name(resolved or path or b"")
                process.is_shell = program in SHELLS
                argv = (words or b"").split(b"\0")
                ours = our_program(program, argv)
                process.programs.append((at_ns, ours))
                names = {name for name in (resolved, path) if name}
                if runs_tests({*map(_base_name, names), _base_name(argv[0])}, argv):
                    self.tests.append(RunOfTests(number, at_ns, sure=True))
                elif not ours and may_run_tests(names, argv, self._cwd):
                    self.tests.append(RunOfTests(number, at_ns, sure=False))

    def _born(self, number: int, at_ns: int, arg: int, start_ticks: int) -> None:
        if number in self.by_number:
            return
        self.by_number[number] = Process(number, at_ns, arg >> _PID_BITS)
        key = arg & ((1 << _PID_BITS) - 1), start_ticks
        self._keys[key] = None if key in self._keys else number

    def ran_another(self, number: int, at_ns: int, ours: str) -> bool:
        """Whether a process is seen to have been something else than this program of ours at that time."""
        for each in self.line(number):
            process = self.by_number[each]
            started = [program for start_ns, program in process.programs if start_ns <= at_ns]
            if started:
                return started[-1] != ours
            at_ns = process.born_ns  # until then it was its parent
        return False


def _exit_code(status: int) -> int:
    signal = status & _SIGNAL_BITS
    return _FIRST_SIGNAL + signal if signal else status >> 8 & 0xFF


def _base_name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
