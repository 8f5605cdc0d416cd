"""What the kernel saw in the window of each call, in none, and in several at once.

In: the kernel table and the windows. Out: how many rows and which effects belong to whom. The table is read
once, in batches; besides names, only the programs that were started inside the windows of calls that claim
to run a command are kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from steno.evidence import layout, wire
from steno.evidence.layers import Layers
from steno.judge import file_changes
from steno.judge.call_windows import Outside, Owner, Windows
from steno.judge.doings import COLUMNS, Seeing, Seen
from steno.judge.file_changes import Change, Held, Witnessed
from steno.judge.kernel_rows import RowBatch, batches
from steno.judge.operations import has_failed

_EXEC = frozenset({"exec"})
_END = frozenset({"exit"})
_ARGV_CUT = wire.NOTES["argv_cut"]
_NEVER = (0.0, -1.0, 0)


class Exec(NamedTuple):
    """A program that was started, or may have been."""

    process: int
    program: bytes
    asked: bytes  # the program as it was asked for
    argv: tuple[bytes, ...]
    cut: bool

    @property
    def names(self) -> frozenset[bytes]:
        return frozenset(path.rpartition(b"/")[2] for path in (self.program, self.asked))


class Counts:
    """How many rows each call has to itself, and how many it may share with others."""

    def __init__(self) -> None:
        self.alone: Counter[int] = Counter()
        self.shared: Counter[int] = Counter()  # by one call of the group
        self.nobody = 0
        self.by_servers: Counter[str] = Counter()  # of nobody's: what servers did
        self.late: defaultdict[int, set[bytes]] = defaultdict(set)  # changed after each call, maybe for it

    def take(self, owner: Owner | Outside | None, count: int) -> None:
        if not isinstance(owner, Owner):
            self.nobody += count
            if owner is not None and owner.server is not None:
                self.by_servers[owner.server] += count
        elif owner.several:
            self.shared[owner.call] += count
        else:
            self.alone[owner.call] += count


class Effects:
    """What was done in each call, by the agent's own process and by others, in groups, and outside."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.alone: defaultdict[int, Seen] = defaultdict(Seen)
        self.own: defaultdict[int, Seen] = defaultdict(Seen)
        self.shared: defaultdict[int, Seen] = defaultdict(Seen)  # by the call that stands for its group
        self.nobody = Seen()
        self.by_servers: defaultdict[str, Seen] = defaultdict(Seen)
        self.execs: defaultdict[int, list[Exec]] = defaultdict(list)

    def take(self, owner: Owner | Outside | None, seen: Seen, windows: Windows) -> None:
        if not isinstance(owner, Owner):
            self.nobody.add(seen)
            if owner is not None and owner.server is not None:
                self.by_servers[owner.server].add(seen)
        elif owner.several:
            self.shared[windows.groups.of(owner.call)].add(seen)
        else:
            (self.own if owner.own else self.alone)[owner.call].add(seen)


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


class Wanted(NamedTuple):
    """What is kept beside names and numbers."""

    programs: Collection[int]  # of these calls, with their arguments
    held: Held
    witnessed: Witnessed


def counts(layers: Layers, windows: Windows) -> Counts:
    found, labeller = Counts(), _Labeller(windows)
    totals: Counter[int] = Counter()
    for batch in _batches(layers, file_changes.COLUMNS):
        labels = labeller.labels(batch)
        totals.update(labels)
        late = _late(labeller.owners)
        rows = {row for row, label in enumerate(labels) if label in late} if late else set()
        if rows:
            _take_late(file_changes.changes(batch, rows), labels, late, found)
    for number, owner in enumerate(labeller.owners):
        found.take(owner, totals[number])
    return found


def effects(layers: Layers, windows: Windows, wanted: Wanted) -> Effects:
    found, labeller, seeing = Effects(), _Labeller(windows), Seeing(labelled=True)
    totals: Counter[int] = Counter()
    for batch in _batches(layers, tuple(dict.fromkeys((*COLUMNS, *file_changes.COLUMNS)))):
        labels = labeller.labels(batch)
        totals.update(labels)
        batch.label(labels)
        seeing.take(batch)
        changes = list(file_changes.changes(batch))
        _take_late(changes, labels, _late(labeller.owners), found.counts)
        calls = _calls(labeller.owners)
        wanted.witnessed.take(batch, ((change, calls[labels[change.row]]) for change in changes))
        for change in changes:
            wanted.held.take(change)
        if wanted.programs:
            _take_programs(batch, labels, labeller.owners, wanted.programs, found)
    for number, owner in enumerate(labeller.owners):
        found.counts.take(owner, totals[number])
        if number in seeing.by_label:
            found.take(owner, seeing.by_label[number], windows)
    return found


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


def _take_late(changes: Iterable[Change], labels: list[int], late: dict[int, int], found: Counts) -> None:
    for change in changes:
        if labels[change.row] in late:
            found.late[late[labels[change.row]]].add(change.path)


def _batches(layers: Layers, columns: tuple[str, ...]) -> Iterator[RowBatch]:
    return batches(layers, columns) if layers.has(layout.KERNEL_TABLE) else iter(())


def _take_programs(
    batch: RowBatch,
    labels: list[int],
    owners: Sequence[Owner | Outside | None],
    wanted: Collection[int],
    found: Effects,
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
