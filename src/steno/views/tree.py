"""The processes of a run as a tree; those that did the same share a line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from steno.evidence import layout
from steno.judge.types import TOP, Process
from steno.model.documents import process_json
from steno.model.run import Run
from steno.text import units
from steno.text.safe import ELLIPSIS, columns, cut, visible
from steno.text.style import Paint
from steno.text.table import GAP

SCHEMA = "steno.tree.v1"
_DOCUMENTS = (layout.FILES, layout.KERNEL_LINES, layout.PROCESSES)
_HEADINGS = ("EXIT", "TIME", "FILES", "PROCESS")

_BRANCH, _LAST_BRANCH, _TRUNK, _BLANK = "├─ ", "└─ ", "│  ", "   "
_MOST_PREFIX = 600
_LEAST_ROOM = 20
_CROWD = 20  # siblings of one program, none like another: from here on they are cut short
_SHOWN_OF_CROWD = 10


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
    run.expect(*_DOCUMENTS)
    changed = run.files_changed()
    told = [
        {**process_json(one), "files_changed": changed.get(one.process, 0)} for one in run.judgement.processes
    ]
    return {"schema": SCHEMA, "run_id": run.run_id, "processes": told}


def lines(run: Run, paint: Paint, *, width: int | None, every: bool = False) -> Iterator[str]:
    """`width` is that of the terminal, if there is one; `every` process gets a line of its own."""
    run.expect(*_DOCUMENTS)
    changed = run.files_changed()
    tree = _Tree(run, every=every)
    rows = list(tree.rows())
    cells = [_HEADINGS[:-1], *(_cells(row, changed) for row in rows)]
    widths = [max(columns(line[place]) for line in cells) for place in range(len(_HEADINGS) - 1)]
    shown = _columns_that_fit(widths, width)
    for line, row in zip(cells, [None, *rows], strict=True):
        padded = [" " * (widths[place] - columns(line[place])) + line[place] for place in shown]
        room = None if width is None else width - sum(len(GAP) + widths[place] for place in shown)
        if row is None:
            heading = GAP.join([*padded, _HEADINGS[-1]])
            yield paint("heading", heading if width is None else cut(heading, width))
        else:
            padded[0] = paint(_role(row), padded[0])
            yield GAP.join([*padded, _fitted(row, room)])
    if tree.hooks:
        yield paint("faint", f"and {units.counted(len(tree.hooks), 'process', 'processes')} of Steno's hooks")


def _columns_that_fit(widths: list[int], width: int | None) -> list[int]:
    every = list(range(len(widths)))
    while width is not None and len(every) > 1:
        if width - sum(len(GAP) + widths[place] for place in every) >= _LEAST_ROOM:
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
        failed = sum(one.has_failed for one in row.members)
        return f"{failed} failed" if failed else "0"
    one = row.members[0]
    if one.still_running:
        return "alive"
    if not one.has_ended:
        return "?"
    return visible(one.signal) if one.signal is not None else str(one.exit_code)


def _role(row: _Row) -> str:
    if any(one.has_failed for one in row.members):
        return "bad"
    return "warning" if any(one.still_running or not one.has_ended for one in row.members) else "faint"


def _time(members: list[Process]) -> str:
    lasted = [one.ended_ns - one.started_ns for one in members if one.ended_ns is not None]
    return units.duration(sum(lasted)) if lasted else "-"


class _Tree:
    """Who started whom, below one imagined process that started those whose parent is not known."""

    def __init__(self, run: Run, *, every: bool) -> None:
        self._every = every
        self._known = {one.process: one for one in run.processes}
        self._below = run.descent.below
        self.hooks = set() if every else {one.process for one in run.processes if one.is_our_hook}  # left out

    def rows(self) -> Iterator[_Row]:
        waiting = [_Group([TOP], "", "")]
        while waiting:
            group = waiting.pop()
            if group.is_rest:
                yield self._rest_row(group)
                continue
            if group.numbers != [TOP]:
                count = f"{len(group.numbers)} x " if len(group.numbers) > 1 else ""
                members = [self._known[number] for number in group.numbers]
                yield _Row(group.branch, count + self._known[group.numbers[0]].title, members)
            waiting += reversed(list(self._groups_below(group)))

    def _groups_below(self, group: _Group) -> Iterator[_Group]:
        below = [
            child for number in group.numbers for child in self._below[number] if child not in self.hooks
        ]
        found = [(False, [child]) for child in below] if self._every else self._alike(below)
        top = group.numbers == [TOP]
        for place, (is_rest, numbers) in enumerate(found, 1):
            last = place == len(found)
            branch = "" if top else _LAST_BRANCH if last else _BRANCH
            trunk = "" if top else _BLANK if last else _TRUNK
            yield _Group(numbers, group.trunk + branch, (group.trunk + trunk)[-_MOST_PREFIX:], is_rest)

    def _alike(self, below: list[int]) -> list[tuple[bool, list[int]]]:
        kinds: dict[int, list[int]] = defaultdict(list)
        for number in below:
            kinds[self._known[number].alike].append(number)
        crowds = Counter(self._known[numbers[0]].label for numbers in kinds.values())
        shown: Counter[str] = Counter()
        rests: dict[str, list[int]] = {}
        found: list[tuple[bool, list[int]]] = []
        for numbers in kinds.values():
            program = self._known[numbers[0]].label
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
        more = f"{ELLIPSIS} {len(group.numbers)} more of {self._known[group.numbers[0]].label}"
        text = f"{more}, which started {started} others" if started else more
        return _Row(group.branch, text, [self._known[number] for number in below], is_rest=True)
