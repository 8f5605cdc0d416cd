"""Tracees held against the record: builds them, runs one, and compares what it says with what was seen.

A tracee (`native/tests/tracees/`) prints a line for each of its effects. Every line must be in
`evidence/syscalls.parquet`, in that order, and about the tracee's own directory nothing else may be there.
"""

from __future__ import annotations

import atexit
import difflib
import errno
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from steno.evidence import layout, wire
from support.recorded import Recorded

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "native" / "tests" / "tracees"
FAMILIES = ("looking", "changing", "network", "processes", "system", "lessons")
STRICT = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1")
# No 32-bit C library is needed: the program has none.
BARE_32 = ("-m32", "-ffreestanding", "-fno-stack-protector", "-fno-pic", "-no-pie", "-nostdlib", "-static")
HEADERS_32 = ("-isystem", "/usr/include/x86_64-linux-gnu")
THEN = 1_500_000_000
UNREADABLE = wire.NOTES["path_unreadable"] | wire.NOTES["no_access"]
NUMBERED = {"signal", "ptrace", "reach", "seccomp", "personality", "namespace", "io_uring"}
ADDRESSED = {"connect", "bind", "send"}
ABOUT_LIVES = {"process", "fork", "exit", "outlived"}
TWO_NAMED = {"rename": "rename_to", "link": "link_to", "exchange": "exchange_to"}
CLONE_THREAD = 0x10000


@functools.cache
def built() -> dict[str, Path]:
    """Every tracee, compiled once for this process of the tests; anybody may run them."""
    folder = Path(tempfile.mkdtemp(prefix="steno-tracees-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    programs = {}
    for family in FAMILIES:
        programs[family] = _compiled(folder / family, [*STRICT, "-pthread"], ["tell.c", f"{family}.c"])
    static = [*STRICT, "-pthread", "-static"]
    programs["static"] = _compiled(folder / "static", static, ["tell.c", "changing.c"])
    programs["thirtytwo"] = _compiled(folder / "thirtytwo", [*STRICT, *BARE_32, *HEADERS_32], ["thirtytwo.c"])
    return programs


def _compiled(program: Path, options: list[str], sources: list[str]) -> Path:
    command = ["gcc", *options, *[str(SOURCES / name) for name in sources], "-o", str(program)]
    subprocess.run(command, check=True, timeout=120)
    return program


def cases_of(family: str) -> list[str]:
    """The cases of a family, read from its source: pytest asks before anything is compiled."""
    source = (SOURCES / f"{family}.c").read_text()
    pattern = r"^ {4}\{\"(\w+)\"," if family == "thirtytwo" else r"^(?:CASE|ONE)\((\w+),"
    return re.findall(pattern, source, re.MULTILINE)


def exercised() -> dict[str, set[str]]:
    """For each machine, the system calls that the cases say they make."""
    told: dict[str, set[str]] = {"x86_64": set(), "i386": set()}
    for family, program in built().items():
        done = subprocess.run([program, "--list"], capture_output=True, text=True, check=True, timeout=60)
        machine = "i386" if family == "thirtytwo" else "x86_64"
        for line in done.stdout.splitlines():
            told[machine].update(line.split("\t")[1].split())
    return told


def furnish(room: Path) -> Path:
    """What every case finds in its directory, with times that do not change from run to run."""
    room.mkdir()
    (room / "file").write_text("old\n")
    (room / "other").write_text("other\n")
    (room / "empty").mkdir()
    (room / "dir").mkdir()
    (room / "dir" / "inner").write_text("inner\n")
    (room / "link").symlink_to("file")
    (room / "dangling").symlink_to("nowhere")
    (room / "dirlink").symlink_to("dir")
    os.mkfifo(room / "fifo")
    shutil.copy("/bin/true", room / "program")
    (room / "script").write_text("#!/bin/sh\nexit 5\n")
    (room / "script").chmod(0o755)
    for path in [*room.iterdir(), room / "dir" / "inner", room]:
        os.utime(path, (THEN, THEN), follow_symlinks=False)
    return room


# --- what the record says, in the tracees' words ----------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One event of `evidence/syscalls.parquet`."""

    fields: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.fields[name]

    @property
    def where(self) -> str:
        place = self.resolved if self.resolved is not None else self.path
        if place is None or self.notes & wire.NOTES["path_unreadable"]:
            return "?"
        if self.notes & wire.NOTES["deleted"]:
            place = place.removesuffix(b" (deleted)")
        return escaped(place)

    @property
    def text(self) -> str:
        if self.op in NUMBERED:
            return f"{self.op} {self.arg}"
        if self.op == "socket":
            return f"socket {self.arg}:{self.arg2 & 0xF}"
        if self.op in ADDRESSED:
            place = b"unix:" + self.resolved if self.resolved is not None else self.path or b""
            return f"{self.op} {escaped(place)}".rstrip()
        if self.op == "open":
            access = ("read", "write", "read_write", "neither")[self.arg & os.O_ACCMODE]
            return f"open {access} {self.where}"
        told = f"{self._verb} {self.where}"
        has_word = self.extra is not None and self.op not in {"exec", "interpreter"}
        return f"{told} -> {escaped(self.extra)}" if has_word else told

    @property
    def _verb(self) -> str:
        swaps = self.notes & wire.NOTES["exchange"]
        return str(self.op).replace("rename", "exchange") if swaps else str(self.op)

    def is_about(self, room: bytes) -> bool:
        if self.op in NUMBERED | ADDRESSED or self.op in {"socket", "listen", "accept"}:
            return True
        if self.op in ABOUT_LIVES:
            return False
        place = self.resolved if self.resolved is not None else self.path
        return place is None or self.where == "?" or place == room or place.startswith(room + b"/")


def escaped(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02x}" for byte in data)


def rows(run: Recorded) -> list[Row]:
    """Every event of the kernel layer, in order."""
    table = pq.read_table(run.path / layout.KERNEL_TABLE)
    return [Row(fields) for fields in table.to_pylist()]


def exits(all_rows: Iterable[Row]) -> Counter[str]:
    """How each process ended, by the best evidence that there is, in the tracees' words."""
    last: dict[int, Row] = {}
    for row in all_rows:
        if row.op == "exit" and (row.process not in last or row.arg2 or not last[row.process].arg2):
            last[row.process] = row
    return Counter(
        f"killed {row.arg & 0x7F}" if row.arg & 0x7F else f"exit {row.arg >> 8 & 0xFF}"
        for row in last.values()
    )


# --- what the tracee says ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One effect: how strictly it is meant, its words, its outcome (None: it has none)."""

    kind: str
    text: str
    outcome: int | None = None

    def matches(self, row: Row) -> bool:
        text = row.text
        if self.text.endswith(" *"):
            return text.startswith(self.text[:-1]) or text == self.text[:-2]
        if " " not in self.text:
            return bool(row.op == self.text)
        return self.text in {text, text.split(" -> ")[0]}

    def check(self, row: Row) -> None:
        """A result is recorded as it was, or not at all."""
        if self.outcome is None or row.result is None:
            return
        agrees = bool(self.outcome) if row.result == wire.RESULT_FAILED else row.result == -self.outcome
        assert agrees, f"{self.text}: {row.text} is recorded as {row.result}"


LOOSE = {"maybe", "any", "unordered", "times"}
KINDS = {*LOOSE, "counted", "hidden"}
COUNTED_ELSEWHERE = ("fork", "exit", "killed", "outlived")


def lines(output: str) -> Iterator[Line]:
    for told in output.splitlines():
        words, _, outcome = told.replace("\\x40", "@").partition(" = ")
        kind, _, rest = words.partition(" ")
        if kind not in KINDS:
            kind, rest = "exactly", words
        number = None if not outcome else int(outcome) if outcome.isdigit() else getattr(errno, outcome)
        yield from _both_names(Line(kind, rest, number))


def _both_names(line: Line) -> Iterator[Line]:
    verb, _, names = line.text.partition(" ")
    yield line
    if verb in TWO_NAMED and " -> " in names:
        old, _, new = names.partition(" -> ")
        yield Line(line.kind, f"{TWO_NAMED[verb]} {new} -> {old}", line.outcome)


def compare(output: str, run: Recorded, room: Path) -> None:
    """Asserts that the record of the run and the words of the tracee are the same story."""
    compare_rows(output, rows(run), set(run.event("kernel_observed")["counted"]), room)


def compare_rows(output: str, recorded: list[Row], counted: set[str], room: Path) -> None:
    # What lies in a directory that gets another name is told, too; the tracee speaks of its own calls only.
    seen = [row for row in recorded if row.op not in {"moved", "moved_to"}]
    told = list(lines(output))
    about = [row for row in seen if row.is_about(os.fsencode(room))]
    elsewhere = [row for row in seen if not row.is_about(os.fsencode(room))]
    story = []
    for line in [line for line in told if line.kind in {"exactly", "hidden"} and not _is_life(line)]:
        if str(room) in line.text or any(line.matches(row) for row in about):
            story.append(line)
        else:
            assert any(line.matches(row) for row in elsewhere), f"not in the record: {line}"
    allowed = [line for line in told if line.kind in LOOSE and not _is_life(line)]
    _same_story(story, about, Allowance(allowed))
    _same_lives(told, seen, counted)


class Allowance:
    """What may or must be in the record at any place."""

    def __init__(self, allowed: Iterable[Line]) -> None:
        self._any = []
        self._left: Counter[Line] = Counter()
        for line in allowed:
            if line.kind == "any":
                self._any.append(line)
            elif line.kind == "times":
                number, _, text = line.text.partition(" ")
                self._left[Line("times", text)] += int(number)
            else:
                self._left[line] += 1

    def takes(self, row: Row) -> bool:
        for line, times in self._left.items():
            if times and line.matches(row):
                self._left[line] -= 1
                return True
        for line in self._any:
            if line.matches(row):
                line.check(row)
                return True
        return False

    @property
    def missing(self) -> list[str]:
        return [line.text for line, times in self._left.items() if times and line.kind != "maybe"]


def _is_life(line: Line) -> bool:
    return line.text.split(" ")[0] in COUNTED_ELSEWHERE


def _same_story(story: list[Line], about: list[Row], allowance: Allowance) -> None:
    texts: list[str] = []
    for row in about:
        line = story[len(texts)] if len(texts) < len(story) else None
        if line is not None and line.matches(row):
            texts.append(line.text)
            line.check(row)
        elif not allowance.takes(row):
            texts.append(row.text)
    said = [line.text for line in story]
    assert texts == said, "\n".join(
        ["", *difflib.unified_diff(said, texts, "said", "recorded", n=2, lineterm="")]
    )
    assert not allowance.missing, allowance.missing


def _same_lives(told: list[Line], seen: list[Row], counted: set[str]) -> None:
    forks = [row for row in seen if row.op == "fork" and not row.arg & CLONE_THREAD]
    said = [line for line in told if line.text == "fork"]
    assert not said or len(forks) == len(said)
    ends = Counter(line.text for line in told if line.text.split(" ")[0] in {"exit", "killed"})
    assert not ends - exits(seen), "an end is not in the record"
    assert [row for row in seen if row.op == "outlived"] or not [
        line for line in told if line.text == "outlived"
    ]
    assert not {line.text for line in told if line.kind == "counted"} - counted
