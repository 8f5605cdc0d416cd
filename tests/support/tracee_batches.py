"""Many tracees under one recording: each in its own room, judged by the events of its own processes.

A recording costs a third of a second, a tracee some milliseconds. Only for cases that end what they start,
that Steno answers as the kernel would, and whose record has no gap: what each does is then nobody else's.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from support.program import PROGRAM, SECONDS
from support.recorded import Recorded, only_run
from support.tracees import Row, built, furnish, rows

_ONE = "(cd {place} && exec {program} {case} {room} >out 2>err </dev/null); echo $? > {place}/code\n"


class Told(NamedTuple):
    """What a case printed and how it ended."""

    output: str
    errors: str
    code: int


class Batch:
    """The cases of a family, done bare and then under one observer."""

    def __init__(self, base: Path, env: dict[str, str], observer: str, family: str, cases: list[str]) -> None:
        self._base = base
        self._program = built()[family]
        env = {**env, "HOME": str(base), "STENO_HOME": str(base / "runs")}
        self.bare = {case: self._alone(case, env) for case in cases}
        self.run = self._recorded(cases, env, observer)
        self.gaps = self.run.verdict().gaps
        self._rows = rows(self.run)
        self._processes: list[dict[str, Any]] = self.run.json("processes.json")["processes"]

    def room(self, case: str) -> Path:
        return self._base / case / "room"

    def told(self, case: str) -> Told:
        place = self._base / case
        return Told(
            (place / "out").read_text(), (place / "err").read_text(), int((place / "code").read_text())
        )

    def rows_of(self, case: str) -> list[Row]:
        """The events of the process that became the case, and of all that it started."""
        (first,) = [one["process"] for one in self._processes if self._is(one, case)]
        family = {first}
        for one in sorted(self._processes, key=lambda one: int(one["process"])):
            if one["parent"] in family:
                family.add(one["process"])
        return [row for row in self._rows if row.process in family]

    def _is(self, process: dict[str, Any], case: str) -> bool:
        return any(found["argv"][:2] == [str(self._program), case] for found in process["execs"][:1])

    def _alone(self, case: str, env: dict[str, str]) -> Told:
        furnish(self.room(case))
        done = subprocess.run(
            [self._program, case, self.room(case)],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            env=env,
            cwd=self._base / case,
        )
        shutil.rmtree(self.room(case))
        return Told(done.stdout, done.stderr, done.returncode)

    def _recorded(self, cases: list[str], env: dict[str, str], observer: str) -> Recorded:
        script = ""
        for case in cases:
            furnish(self.room(case))
            words = {
                "place": self._base / case,
                "program": self._program,
                "case": case,
                "room": self.room(case),
            }
            script += _ONE.format(**{name: shlex.quote(str(word)) for name, word in words.items()})
        (self._base / "script").write_text(script)
        subprocess.run(
            [PROGRAM, "run", "--no-git", "--observer", observer, "--", "sh", self._base / "script"],
            capture_output=True,
            check=True,
            timeout=SECONDS,
            env=env,
            cwd=self._base,
        )
        return only_run(self._base / "runs")


@cache
def batch(base: Path, path: str, observer: str, family: str, cases: tuple[str, ...]) -> Batch:
    """Made once for each process of the tests."""
    place = base / f"tracees-{observer}-{family}"
    for case in cases:
        (place / case).mkdir(parents=True)
    return Batch(place, {"PATH": path}, observer, family, list(cases))
