"""Who started whom in a run, what each process is, and which of them did the same.

Never trusts the numbers: a circle of parents is opened, no depth exhausts the stack.
"""

from __future__ import annotations

import shlex
from collections import defaultdict

from steno.model.kernel_layer import Exec, Process

TOP = 0  # the number that stands for a parent which is not known


class Descent:
    def __init__(self, processes: list[Process]) -> None:
        self._known = {one.process: one for one in processes}
        self.below: dict[int, list[int]] = defaultdict(list)  # by the number of the parent, or TOP
        self._order = self._top_down()
        self.labels: dict[int, str] = {}  # the program of each; a copy is what its parent is
        self.titles: dict[int, str] = {}  # all that each of them was, its last command line in full
        for number in self._order:
            self._name(self._known[number])
        self.alike = self._kinds_of_subtrees()

    def _top_down(self) -> list[int]:
        started: dict[int, list[int]] = defaultdict(list)
        for number in sorted(self._known):
            parent = self._known[number].parent
            started[parent if parent in self._known and parent != number else TOP].append(number)
        order: list[int] = []
        placed = {TOP}
        for root in [*started[TOP], *sorted(self._known)]:  # what is in a circle is reached from no root
            waiting = [(root, TOP)]
            while waiting:
                number, parent = waiting.pop()
                if number not in placed:
                    placed.add(number)
                    order.append(number)
                    self.below[parent].append(number)
                    waiting += [(child, number) for child in reversed(started[number])]
        return order

    def _name(self, process: Process) -> None:
        above = self.labels.get(process.parent, "a process")
        started = [one for one in process.execs if one.has_started]
        if started:
            self.labels[process.process] = started[-1].program
            *earlier, last = started
            self.titles[process.process] = " → ".join([*(one.program for one in earlier), _command(last)])
            return
        self.labels[process.process] = above
        words = f"({above}, forked)"
        if process.execs:
            failed = process.execs[-1]
            words += f" could not run {failed.requested or failed.path or '?'}: {failed.result}"
        self.titles[process.process] = words

    def _kinds_of_subtrees(self) -> dict[int, int]:
        """A number for each process; two have the same one when they and all below them did the same."""
        numbered: dict[tuple[object, ...], int] = {}
        kinds: dict[int, int] = {}
        for number in reversed(self._order):
            one = self._known[number]
            below = tuple(sorted(kinds[child] for child in self.below[number]))
            kind = (self.titles[number], one.exit, one.outlived, below)
            kinds[number] = numbered.setdefault(kind, len(numbered) + 1)
        return kinds


def _command(one: Exec) -> str:
    words = shlex.join(one.argv) if one.argv else one.requested or one.path or "?"
    if one.argv_cut:
        words += " …"
    names = {path.rpartition("/")[2] for path in (one.requested, one.path) if path}
    if one.argv and names and one.argv[0].rpartition("/")[2].removeprefix("-") not in names:
        # Its own name for itself is a claim; the file that was executed is the fact.
        words = f"{shlex.quote(one.requested or one.path or '?')} (as {words})"
    if one.interpreter is not None and one.interpreter.path:
        words += f" (by {one.interpreter.path})"
    return f"{words} (without its privilege)" if one.privilege_lost else words
