"""The process tree of a run: who started whom, what each one ran, and how it ended.

In: a run. Out: lines that are safe to print, or the processes as data. Processes that did the
same, with all that they started, share one line; a crowd of one program is cut short, and what is cut is
counted, failures apart. Never trusts the numbers: a circle of parents is opened, no depth exhausts the stack.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from steno.evidence.wire import OPS
from steno.model.kernel_layer import NO_ERROR, Exec, Line, Process, bytes_of, whole
from steno.model.run import Run
from steno.views import measures
from steno.views.paint import Paint
from steno.views.plain import ELLIPSIS, columns, cut, visible

SCHEMA = "steno.tree.v1"
_HEADINGS = ("EXIT", "TIME", "FILES", "PROCESS")
_GAP = "  "
_BRANCH, _LAST_BRANCH, _TRUNK, _BLANK = "├─ ", "└─ ", "│  ", "   "
_MOST_PREFIX = 600
_LEAST_ROOM = 20
_TOP = 0  # the number that stands for a parent which is not known
_CROWD = 20  # siblings of one program, none like another: from here on they are cut short
_SHOWN_OF_CROWD = 10
_CHANGING = {op.name for op in OPS.values() if op.changes}


class _Group(NamedTuple):
    """Processes that share a line, and the branches before it and before what is below it."""

    numbers: list[int]
    branch: str
    trunk: str
    is_rest: bool = False


class _Row(NamedTuple):
    prefix: str
    text: str
    members: list[Process]
    is_rest: bool = False


def to_json(run: Run) -> dict[str, Any]:
    changed = _files_changed(run)
    told = [
        {**process, "files_changed": changed.get(process.get("process", 0), 0)}
        for process in run.kernel.told_processes()
    ]
    return {"schema": SCHEMA, "run_id": run.run_id, "processes": told}


def lines(run: Run, paint: Paint, *, width: int | None, every: bool = False) -> Iterator[str]:
    """`width` is that of the terminal, if there is one; `every` process gets a line of its own."""
    changed = _files_changed(run)
    rows = list(_Tree(run.kernel.processes()).rows(every=every))
    cells = [_HEADINGS[:-1], *(_cells(row, changed) for row in rows)]
    widths = [max(columns(line[place]) for line in cells) for place in range(len(_HEADINGS) - 1)]
    shown = _columns_that_fit(widths, width)
    for line, row in zip(cells, [None, *rows], strict=True):
        padded = [" " * (widths[place] - columns(line[place])) + line[place] for place in shown]
        room = None if width is None else width - sum(len(_GAP) + widths[place] for place in shown)
        if row is None:
            heading = _GAP.join([*padded, _HEADINGS[-1]])
            yield paint("heading", heading if width is None else cut(heading, width))
        else:
            padded[0] = paint(_role(row), padded[0])
            yield _GAP.join([*padded, _fitted(row, room)])


def programs(processes: list[Process]) -> dict[int, str]:
    """What each process runs, by its number."""
    return _Tree(processes).programs


def _columns_that_fit(widths: list[int], width: int | None) -> list[int]:
    every = list(range(len(widths)))
    while width is not None and len(every) > 1:
        if width - sum(len(_GAP) + widths[place] for place in every) >= _LEAST_ROOM:
            break
        every.pop()
    return every


def _fitted(row: _Row, room: int | None) -> str:
    if room is None:
        return row.prefix + visible(row.text)
    prefix = row.prefix
    if len(prefix) > room // 2:  # so deep that the branches would leave no room for words
        prefix = ELLIPSIS + prefix[len(prefix) - room // 2 + 1 :]
    # An argument list may be megabytes long; only its beginning is worth making visible.
    return cut(prefix + visible(row.text[: room + 1]), max(room, 1))


def _cells(row: _Row, changed: dict[int, int]) -> tuple[str, ...]:
    files = sum(changed.get(one.process, 0) for one in row.members)
    return (_ending(row), _time(row.members), str(files) if files else "")


def _ending(row: _Row) -> str:
    if row.is_rest:
        failed = sum(map(_has_failed, row.members))
        return f"{failed} failed" if failed else "0"
    one = row.members[0]
    if one.outlived:
        return "alive"
    if one.exit is None:
        return "?"
    return visible(one.exit.signal) if one.exit.signal is not None else str(one.exit.code)


def _role(row: _Row) -> str:
    if any(map(_has_failed, row.members)):
        return "bad"
    return "warning" if any(one.outlived or one.exit is None for one in row.members) else "faint"


def _has_failed(process: Process) -> bool:
    ended = process.exit
    return ended is not None and (ended.signal is not None or ended.code != 0)


def _time(members: list[Process]) -> str:
    ended = [one for one in members if one.ended_ns is not None]
    lasted = [whole(one.ended_ns or 0) - whole(one.first_ns) for one in ended]
    return measures.duration(sum(lasted)) if lasted else "-"


class _Tree:
    """Who started whom, below one imagined process that started those whose parent is not known."""

    def __init__(self, processes: list[Process]) -> None:
        self._known = {one.process: one for one in processes}
        self._below: dict[int, list[int]] = defaultdict(list)
        self._order = self._top_down()
        self.programs: dict[int, str] = {}  # what each one is, by its number; a copy is what its parent is
        self._words: dict[int, str] = {}
        for number in self._order:
            self._name(self._known[number])
        self._kinds = self._kinds_of_subtrees()

    def rows(self, *, every: bool) -> Iterator[_Row]:
        waiting = [_Group([_TOP], "", "")]
        while waiting:
            group = waiting.pop()
            if group.is_rest:
                yield self._rest_row(group)
                continue
            if group.numbers != [_TOP]:
                count = f"{len(group.numbers)} x " if len(group.numbers) > 1 else ""
                members = [self._known[number] for number in group.numbers]
                yield _Row(group.branch, count + self._words[group.numbers[0]], members)
            waiting += reversed(list(self._groups_below(group, every=every)))

    def _groups_below(self, group: _Group, *, every: bool) -> Iterator[_Group]:
        below = [child for number in group.numbers for child in self._below[number]]
        found = [(False, [child]) for child in below] if every else self._alike(below)
        top = group.numbers == [_TOP]
        for place, (is_rest, numbers) in enumerate(found, 1):
            last = place == len(found)
            branch = "" if top else _LAST_BRANCH if last else _BRANCH
            trunk = "" if top else _BLANK if last else _TRUNK
            yield _Group(numbers, group.trunk + branch, (group.trunk + trunk)[-_MOST_PREFIX:], is_rest)

    def _alike(self, below: list[int]) -> list[tuple[bool, list[int]]]:
        kinds: dict[int, list[int]] = defaultdict(list)
        for number in below:
            kinds[self._kinds[number]].append(number)
        crowds = Counter(self.programs[numbers[0]] for numbers in kinds.values())
        shown: Counter[str] = Counter()
        rests: dict[str, list[int]] = {}
        found: list[tuple[bool, list[int]]] = []
        for numbers in kinds.values():
            program = self.programs[numbers[0]]
            shown[program] += 1
            if crowds[program] <= _CROWD or shown[program] <= _SHOWN_OF_CROWD:
                found.append((False, numbers))
            elif program in rests:
                rests[program] += numbers
            else:
                rests[program] = numbers
                found.append((True, numbers))
        return found

    def _rest_row(self, group: _Group) -> _Row:
        below = list(group.numbers)
        for number in below:  # grows while it is read, until nothing is below
            below += self._below[number]
        started = len(below) - len(group.numbers)
        more = f"{ELLIPSIS} {len(group.numbers)} more of {self.programs[group.numbers[0]]}"
        text = f"{more}, which started {started} others" if started else more
        return _Row(group.branch, text, [self._known[number] for number in below], is_rest=True)

    def _top_down(self) -> list[int]:
        started: dict[int, list[int]] = defaultdict(list)
        for number in sorted(self._known):
            parent = self._known[number].parent
            started[parent if parent in self._known and parent != number else _TOP].append(number)
        order: list[int] = []
        placed = {_TOP}
        for root in [*started[_TOP], *sorted(self._known)]:  # what is in a circle is reached from no root
            waiting = [(root, _TOP)]
            while waiting:
                number, parent = waiting.pop()
                if number not in placed:
                    placed.add(number)
                    order.append(number)
                    self._below[parent].append(number)
                    waiting += [(child, number) for child in reversed(started[number])]
        return order

    def _name(self, process: Process) -> None:
        above = self.programs.get(process.parent, "a process")
        started = [one for one in process.execs if one.has_started]
        if started:
            self.programs[process.process] = started[-1].program
            *earlier, last = started
            self._words[process.process] = " → ".join([*(one.program for one in earlier), _command(last)])
            return
        self.programs[process.process] = above
        words = f"({above}, forked)"
        if process.execs:
            failed = process.execs[-1]
            words += f" could not run {failed.requested or failed.path or '?'}: {failed.result}"
        self._words[process.process] = words

    def _kinds_of_subtrees(self) -> dict[int, int]:
        """A number for each process; two have the same one when they and all below them did the same."""
        numbered: dict[tuple[object, ...], int] = {}
        kinds: dict[int, int] = {}
        for number in reversed(self._order):
            one = self._known[number]
            below = tuple(sorted(kinds[child] for child in self._below[number]))
            kind = (self._words[number], one.exit, one.outlived, below)
            kinds[number] = numbered.setdefault(kind, len(numbered))
        return kinds


def _command(one: Exec) -> str:
    words = shlex.join(one.argv) if one.argv else one.requested or one.path or "?"
    names = {path.rpartition("/")[2] for path in (one.requested, one.path) if path}
    if one.argv and names and one.argv[0].rpartition("/")[2].removeprefix("-") not in names:
        # Its own name for itself is a claim; the file that was executed is the fact.
        words = f"{shlex.quote(one.requested or one.path or '?')} (as {words})"
    if one.interpreter is not None and one.interpreter.path:
        words += f" (by {one.interpreter.path})"
    return f"{words} (without its privilege)" if one.privilege_lost else words


def _files_changed(run: Run) -> dict[int, int]:
    """How many of the files that came out changed each process had opened to write, or had changed."""
    changed = {file.name for file in run.files if file.is_changed and not file.changed_by_others}
    pairs = {
        (line.process, name)
        for line in run.kernel.lines("file")
        if line.path is not None and line.result in NO_ERROR and _may_change(line)
        if (name := bytes_of(line.path, line.path_b64)) in changed
    }
    return dict(Counter(process for process, _ in pairs))


def _may_change(line: Line) -> bool:
    return line.op in _CHANGING or (
        line.op == "open" and (line.access != "read" or line.create or line.truncate)
    )
