"""Many tracees under one recording: each in its own room, judged by the events of its own processes.

A recording costs a third of a second, a tracee some milliseconds. Only for cases that end what they start,
that Steno answers as the kernel would, and whose record has no gap: what each does is then nobody else's.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.recorded import only_run
from support.tracees import Row, built, compare_rows, furnish, rows

_ONE = "(cd {place} && exec {program} {case} {room} >out 2>err </dev/null); echo $? > {place}/code\n"


class Told(NamedTuple):
    """What a case printed and how it ended."""

    output: str
    errors: str
    code: int


class Done(NamedTuple):
    """The cases of a family, done bare and then recorded."""

    base: Path
    program: Path
    bare: dict[str, Told]


class Batch:
    """What was done, and the record of it."""

    def __init__(self, done: Done, store: Path) -> None:
        self._base, self._program, self.bare = done
        self.run = only_run(store)
        self._counted = set(self.run.event("kernel_observed")["counted"])
        self.gaps = self.run.verdict().gaps
        self._rows = rows(self.run)
        self._processes: list[dict[str, Any]] = self.run.json("processes.json")["processes"]

    def room(self, case: str) -> Path:
        return self._base / case / "room"

    def compare(self, case: str) -> None:
        """The tracee noticed nothing, and the record is what it says."""
        told, bare = _told(self._base / case), self.bare[case]
        assert sorted(told.output.splitlines()) == sorted(bare.output.splitlines())
        assert told.errors == bare.errors
        if not re.search("^skip ", told.output, re.MULTILINE):  # the kernel does not have that, or not for us
            assert told.code == 0
            compare_rows(told.output, self.rows_of(case), self._counted, self.room(case))

    def rows_of(self, case: str) -> list[Row]:
        """The events of the process that became the case, and of all that it started."""
        (first,) = [one["process"] for one in self._processes if self._is(one, case)]
        family = {first}
        for one in sorted(self._processes, key=lambda one: int(one["process"])):
            if one["parent"] in family:
                family.add(one["process"])
        return [row for row in self._rows if row.process in family]

    def rows_that(self, op: str, case: str) -> list[Row]:
        return [row for row in self.rows_of(case) if row.op == op]

    def file(self, case: str, name: str) -> dict[str, Any]:
        """What the record has of a file in the room of the case."""
        path = str(self.room(case) / name)
        (found,) = [entry for entry in self.run.json("files.json")["files"] if entry["path"] == path]
        assert isinstance(found, dict)
        return found

    def execs_of(self, case: str) -> list[dict[str, Any]]:
        """What was executed from the room of the case, or tried."""
        room = f"{self.room(case)}/"
        executed = [one for process in self._processes for one in process["execs"]]
        return [one for one in executed if one["path"].startswith(room)]

    def _is(self, process: dict[str, Any], case: str) -> bool:
        return any(found["argv"][:2] == [str(self._program), case] for found in process["execs"][:1])


def do_batch(
    base: Path, family: str, names: Sequence[str], execute: Callable[[list[str]], object], *recorder: str
) -> Done:
    """Does all these cases in rooms below this directory: bare, and by the words of a recorder."""
    program, script = built()[family], ""
    for name in names:
        room = base / name / "room"
        room.parent.mkdir()
        words = {"place": room.parent, "program": program, "case": name, "room": room}
        script += _ONE.format(**{word: shlex.quote(str(value)) for word, value in words.items()})
    (base / "script").write_text(script)
    bare = {}
    for before in ((), recorder):
        for name in names:
            furnish(base / name / "room")
        execute([*before, "sh", str(base / "script")])
        if not before:
            bare = {name: _told(base / name) for name in names}
            for name in names:
                shutil.rmtree(base / name / "room")
    return Done(base, program, bare)


def _told(place: Path) -> Told:
    return Told((place / "out").read_text(), (place / "err").read_text(), int((place / "code").read_text()))
