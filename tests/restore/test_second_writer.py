"""Undo, undo --force and restore while somebody else writes to the same files: no byte of theirs is lost.

Hundreds of cases in one recording: each has a directory, something that the run does there, something that
the second writer does, and when. Every byte that the second writer wrote is, after every command, below its
own directory or in a trash that the commands have named.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pytest
from _pytest.mark.structures import ParameterSet

from support.observers import STOPPING, needs, working
from support.program import PROGRAM, SECONDS, Steno

NAMED = "what was taken away is in "

# What the run does in a case's directory: before the first change, as its first change, and as its last.
RUNS = {
    "read": (": < f", "", ""),
    "append": ("test -e f", "echo run >> f", ""),
    "overwrite": ("", "echo run > f", ""),
    "write twice": ("", "echo run > f", "echo again >> f"),
    "create": ("test -e new", "echo run > new", ""),
    "remove": ("test -e f", "rm f", ""),
    "remove and make": ("", "rm f; echo run > f", ""),
    "replace": (": < f", "echo run > t; mv t f", ""),
    "move": ("", "mv f g", ""),
    "move and make": ("", "mv f g; echo run > f", ""),
    "move over": ("", "mv g f", ""),
    "chmod": ("", "chmod 600 f", ""),
    "truncate": ("", "truncate -s 1 f", ""),
    "copy times": ("", "cp -p g f", ""),
    "remove tree": ("", "rm -r d", ""),
    "move tree": ("", "mv d e", ""),
    "make tree": ("test -e e", "mkdir e; echo run > e/f", ""),
    "link": ("test -e new", "ln -s f new", ""),
    "append and truncate": ("", "sh -c 'echo run >> f'", ": > f"),
    "write and write again": ("", "sh -c 'echo run > f'", "sh -c 'echo again > f'"),
    "write and remove": ("test -e f", "sh -c 'echo run > f'", "rm f"),
    "write and replace": ("", "sh -c 'echo run > f'", "echo again > t; mv t f"),
    "remove and write": ("", "rm f", "echo run > f"),
    "by another process": ("test -e f", "sh -c 'echo run >> f'; sh -c 'echo run > new'", ""),
}
_PATHS = {"create": "new", "link": "new", "remove tree": "d/f", "move tree": "d/f", "make tree": "e/f"}
# What the second writer does before the last of these is destroyed by the run: the record has it.
DESTROYING = [name for name, (_, _, last) in RUNS.items() if name != "write twice" and last]
BEFORE, DURING, HELD, AFTER = "before", "during", "held", "after"


class Case(NamedTuple):
    run: str
    writer: str
    moment: str
    place: Path

    @property
    def path(self) -> Path:
        return self.place / _PATHS.get(self.run, "f")

    @property
    def mark(self) -> bytes:
        return f"<{self.place.name}>".encode()


def append(case: Case) -> None:
    case.path.parent.mkdir(exist_ok=True)
    with case.path.open("ab") as file:
        file.write(case.mark)


def overwrite(case: Case) -> None:
    case.path.parent.mkdir(exist_ok=True)
    case.path.write_bytes(case.mark)


def save(case: Case) -> None:
    """As editors do."""
    case.path.parent.mkdir(exist_ok=True)
    draft = case.path.with_name("draft")
    draft.write_bytes(case.mark)
    draft.rename(case.path)


def make_anew(case: Case) -> None:
    case.path.parent.mkdir(exist_ok=True)
    case.path.unlink(missing_ok=True)
    case.path.write_bytes(case.mark)


def add_another(case: Case) -> None:
    case.path.parent.mkdir(exist_ok=True)
    case.path.with_name("another").write_bytes(case.mark)


WRITERS: dict[str, Callable[[Case], None]] = {
    one.__name__: one for one in (append, overwrite, save, make_anew, add_another)
}


def cases(root: Path) -> list[Case]:
    kinds = product(RUNS, WRITERS, (BEFORE, DURING, HELD, AFTER))
    wanted = (kind for kind in kinds if kind[0] not in DESTROYING or kind[2] != HELD)
    return [Case(*kind, root / str(number)) for number, kind in enumerate(wanted)]


def script(cases: list[Case], phase: int) -> str:
    lines = (f"cd {case.place}; {RUNS[case.run][phase]}" for case in cases if RUNS[case.run][phase])
    return "\n".join(lines)


def wait_for_the_writer(run: subprocess.Popen[bytes]) -> None:
    assert run.stdout is not None
    assert run.stdout.readline() == b"now\n"


def go_on(run: subprocess.Popen[bytes]) -> None:
    assert run.stdin is not None
    run.stdin.write(b"\n")
    run.stdin.flush()


class Writers:
    def __init__(self, root: Path, cases: list[Case]) -> None:
        self._root = root
        self._cases = cases
        self._written: list[Case] = []
        self._held: list[tuple[Case, BinaryIO]] = []
        self.trashes: list[Path] = []

    def write(self, moment: str) -> None:
        for case in self._cases:
            if case.moment == moment:
                WRITERS[case.writer](case)
                self._written.append(case)

    def open(self, stack: ExitStack) -> None:
        for case in self._cases:
            if case.moment == HELD and case.path.is_file():
                self._held.append((case, stack.enter_context(case.path.open("ab", buffering=0))))

    def write_to_what_is_open(self) -> None:
        for case, file in self._held:
            file.write(case.mark)
            self._written.append(case)

    def lost(self) -> list[tuple[str, str, str]]:
        trashes = [place / self._root.relative_to("/") for place in self.trashes]
        return [
            (case.run, case.writer, case.moment)
            for case in self._written
            if not any(
                case.mark in path.read_bytes()
                for place in (self._root, *trashes)
                for path in (place / case.place.name).rglob("*")
                if path.is_file() and not path.name.startswith(".steno-")
            )
        ]


def some_observers() -> list[ParameterSet]:
    """One of them is enough for each run of the suite."""
    strongest = (working(STOPPING) or STOPPING)[-1]
    return [
        pytest.param(name, marks=[*needs(name), *([] if name == strongest else [pytest.mark.soak])])
        for name in STOPPING
    ]


@pytest.mark.parametrize("observer", some_observers())
def test_no_byte_of_a_second_writer_is_lost(
    steno: Steno, tmp_path: Path, clean_env: dict[str, str], observer: str
) -> None:
    root = tmp_path / "root"
    all_cases = cases(root)
    assert len(all_cases) >= 300
    for case in all_cases:
        (case.place / "d").mkdir(parents=True)
        for name in ("f", "g", "d/f"):
            (case.place / name).write_bytes(name.encode())
    pause = "echo now; read answer"
    words = "\n".join([script(all_cases, 0), pause, script(all_cases, 1), pause, script(all_cases, 2), pause])
    (tmp_path / "script").write_text(words)
    writers = Writers(root, all_cases)
    command: list[str | Path] = [
        PROGRAM,
        "run",
        "--no-git",
        "--observer",
        observer,
        "--",
        "sh",
        tmp_path / "script",
    ]
    with (
        ExitStack() as stack,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=clean_env,
        ) as run,
    ):
        stack.callback(run.kill)
        wait_for_the_writer(run)
        writers.write(BEFORE)
        go_on(run)
        wait_for_the_writer(run)
        writers.write(DURING)
        writers.open(stack)
        go_on(run)
        wait_for_the_writer(run)
        go_on(run)
        said = run.communicate(timeout=SECONDS)[1]
        assert run.returncode == 0, said
        writers.write(AFTER)

        def put_back(*more: str | Path) -> subprocess.CompletedProcess[bytes]:
            done = steno(*more)
            assert done.returncode in {0, 1}, done
            lines = done.stdout.decode().splitlines()
            writers.trashes.extend(Path(line.removeprefix(NAMED)) for line in lines if line.startswith(NAMED))
            return done

        refused = put_back("undo", "@last")
        assert b"nothing was changed" in refused.stderr
        plan = json.loads(steno("undo", "@last", "--dry-run", "--json").stdout)
        stopped = {
            name for one in plan["conflicts"] for name in Path(one["path"]).relative_to(root).parts[:1]
        }
        clear = [case.place for case in all_cases if case.place.name not in stopped]
        touched = [place for place in clear if RUNS[all_cases[int(place.name)].run][1]]
        put_back("undo", "@last", *touched)
        writers.write_to_what_is_open()
        kept = [
            (case.run, case.writer, DURING)
            for case in all_cases
            if case.run in DESTROYING and case.place not in clear
        ]
        assert not {*writers.lost()} - {*kept}, "after undo"
        put_back("undo", "@last", "--force")
        assert not writers.lost(), "after undo --force"
        put_back("restore", "@last", "--force")
        assert not writers.lost(), "after restore --force"
        conflicts = {all_cases[int(name)] for name in stopped}
        for case in all_cases:
            if case.moment == AFTER and case.run == "overwrite":
                assert (case in conflicts) == (case.writer != "add_another"), case
            if case.moment == DURING and case.run == "remove" and case.writer != "add_another":
                assert case in conflicts, case
