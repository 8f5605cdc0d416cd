"""The second pass of the table of system calls: what was done in the window of each call that was told.

In: the calls, their windows and their processes, for which the first pass was needed. Out: how many rows and
which effects belong to whom. Besides names, only the programs that were started inside the windows of calls
that claim to run a command are kept, and what changed the paths that calls claim to have written. What is
told of calls and what ties them to the kernel are both made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

from steno.evidence import wire
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch
from steno.judge import file_changes, said_and_done, surface
from steno.judge.call_effects import EffectsOfCalls, Exec
from steno.judge.call_join import Joined, join
from steno.judge.call_windows import Outside, Owner, Windows
from steno.judge.file_changes import Change, Held, Witnessed
from steno.judge.operations import has_failed
from steno.judge.scan import Reading

_EXEC = frozenset({"exec"})
_END = frozenset({"exit"})
_ARGV_CUT = wire.NOTES["argv_cut"]
_NEVER = (0.0, -1.0, 0)


class Wanted(NamedTuple):
    """What is kept beside names and numbers."""

    programs: Collection[int]  # of these calls, with their arguments
    held: Held
    witnessed: Witnessed

    @staticmethod
    def by(joined: Joined) -> Wanted:
        calls, cwd = joined.calls, joined.facts.start.cwd
        programs = {place for place, call in enumerate(calls) if said_and_done.claims_command(call)}
        paths = {path for call in calls for path in said_and_done.written_by(call, cwd)}
        reading = {place for place, call in enumerate(calls) if said_and_done.is_read_only(call)}
        return Wanted(programs, Held(joined.windows.is_anywhere), Witnessed(paths, reading))


class CallScan:
    columns: ClassVar[tuple[str, ...]] = (*dict.fromkeys((*surface.COLUMNS, *file_changes.COLUMNS)),)

    def __init__(self, windows: Windows, wanted: Wanted) -> None:
        self.wanted = wanted
        self._windows = windows
        self._labeller = _Labeller(windows)
        self._seeing = surface.Seeing(labelled=True)
        self._totals: Counter[int] = Counter()
        self._found = EffectsOfCalls()

    @classmethod
    def begin(cls, layers: Layers) -> Self:
        joined = Reading.of(layers).once(join)
        return cls(joined.windows, Wanted.by(joined))

    def take(self, batch: RowBatch) -> None:
        labels, wanted = self._labeller.labels(batch), self.wanted
        owners = self._labeller.owners
        self._totals.update(labels)
        batch.label(labels)
        self._seeing.take(batch)
        changes = list(file_changes.changes(batch))
        _take_late(changes, labels, _late(owners), self._found)
        calls = _calls(owners)
        wanted.witnessed.take(batch, ((change, calls[labels[change.row]]) for change in changes))
        for change in changes:
            wanted.held.take(change)
        if wanted.programs:
            _take_programs(batch, labels, owners, wanted.programs, self._found)

    @cached_property
    def effects(self) -> EffectsOfCalls:
        """When all was taken, and nothing will be."""
        for number, owner in enumerate(self._labeller.owners):
            self._found.counts.take(owner, self._totals[number])
            if number in self._seeing.by_label:
                self._found.take(owner, self._seeing.by_label.pop(number), self._windows)
        return self._found


class _Labeller:
    """Gives every row the number of its owner: 0 is nobody."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._numbers: dict[Owner | Outside, int] = {}
        self._last: dict[int, tuple[float, float, int]] = {}  # process -> from, until, number

    @property
    def owners(self) -> list[Owner | Outside | None]:
        return [None, *self._numbers]

    def labels(self, batch: RowBatch) -> list[int]:
        processes = batch.numbers("process")
        inside = {process for process in set(processes) if self._windows.is_anywhere(process)}
        if not inside:
            return [0] * batch.count
        found, last, ends = [], self._last, set(batch.rows_of(_END))
        for row, (process, at_ns) in enumerate(zip(processes, batch.numbers("mono_ns"), strict=True)):
            if process not in inside:
                found.append(0)
                continue
            if row in ends:
                found.append(self._number(self._windows.owner_of_end(process, at_ns)))
                continue
            start, end, number = last.get(process, _NEVER)
            if not start <= at_ns < end:
                start, end, number = last[process] = self._look(process, at_ns)
            found.append(number)
        return found

    def _look(self, process: int, at_ns: int) -> tuple[float, float, int]:
        owner, start, end = self._windows.owner(process, at_ns)
        return start, end, self._number(owner)

    def _number(self, owner: Owner | Outside | None) -> int:
        return 0 if owner is None else self._numbers.setdefault(owner, len(self._numbers) + 1)


def _calls(owners: Sequence[Owner | Outside | None]) -> list[int]:
    """For every label the call that has it to itself."""
    return [
        owner.call if isinstance(owner, Owner) and not owner.several else file_changes.NO_CALL
        for owner in owners
    ]


def _late(owners: Sequence[Owner | Outside | None]) -> dict[int, int]:
    """The labels of what was done after calls, and the calls."""
    return {
        number: owner.after
        for number, owner in enumerate(owners)
        if isinstance(owner, Outside) and owner.after is not None
    }


def _take_late(
    changes: Iterable[Change], labels: list[int], late: dict[int, int], found: EffectsOfCalls
) -> None:
    for change in changes:
        if labels[change.row] in late:
            found.counts.late[late[labels[change.row]]].add(change.path)


def _take_programs(
    batch: RowBatch,
    labels: list[int],
    owners: Sequence[Owner | Outside | None],
    wanted: Collection[int],
    found: EffectsOfCalls,
) -> None:
    kept = {
        number: owner.call
        for number, owner in enumerate(owners)
        if isinstance(owner, Owner) and not owner.several and owner.call in wanted
    }
    rows = [row for row in batch.rows_of(_EXEC) if labels[row] in kept]
    columns = (
        batch.numbers("process", rows),
        batch.texts("resolved", rows),
        batch.texts("path", rows),
        batch.texts("extra", rows),
        batch.numbers("notes", rows),
        batch.optional("result", rows),
    )
    for row, process, resolved, path, words, notes, result in zip(rows, *columns, strict=True):
        if not has_failed(result):
            argv = tuple((words or b"").removesuffix(b"\0").split(b"\0"))
            program = Exec(process, resolved or path or b"", path or b"", argv, bool(notes & _ARGV_CUT))
            found.execs[kept[labels[row]]].append(program)
