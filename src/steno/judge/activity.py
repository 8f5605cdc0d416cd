"""What happened, told one thing at a time: programs that start and end, files that change, addresses.

The frames of a run that is going on and the table of a sealed one are told alike. Nothing is told of looks,
reads, devices, and of what is known to have failed.
"""

from __future__ import annotations

import shlex
import stat
from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from steno.evidence import wire
from steno.evidence.syscalls import result_word
from steno.judge.operations import CREATED, DELETED, OPENING, READ, effect, has_failed, has_failed_to_reach
from steno.judge.processes import exit_of

PROCESS, FILE, NET, CALL, RUN = "process", "file", "net", "call", "run"
# Whether it came to pass is often not known when it is told.
_NET = {"connect": "connects to", "bind": "binds", "send": "sends to", "answer": "resolves"}
_METADATA = frozenset({"chmod", "chown", "utimes", "setxattr", "removexattr", "setattr"})
_RENAMES = frozenset({"rename", "moved"})
_OTHER_HALF = frozenset({"rename_to", "moved_to"})  # of what these tell
_CHANGING = frozenset(op.name for op in wire.OPS.values() if op.changes and op.category == "file")
_PROCESSES = frozenset({"process", "exec", "exit"})
# Calls of these are worth a look, and opens that are not for reading.
ALWAYS = (_CHANGING - _OTHER_HALF) | _PROCESSES | frozenset(_NET)
OPENS = OPENING
_KNOWN_PROGRAMS = 4096
_WORDS = 64
_PID_BITS = 32
_NOBODY = 0
_LONGEST = 4096
_MOST_BYTES = 4 * _LONGEST


class Happening(NamedTuple):
    """`what` is one of five words, `word` the verb, `subject` the path, the command, the address or tool."""

    at_ns: int
    what: str
    word: str
    subject: str = ""
    detail: str = ""
    process: int | None = None
    program: str | None = None
    bad: bool = False
    times: int = 1
    facts: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it

    def to_json(self) -> dict[str, Any]:
        told = {name: value for name, value in self._asdict().items() if name != "facts"}
        return {name: value for name, value in told.items() if value not in {None, ""}} | self.facts


class Row(NamedTuple):
    """One observed call."""

    mono_ns: int
    process: int
    op: str
    path: bytes | None
    resolved: bytes | None
    extra: bytes | None
    result: int | None  # None: not known
    notes: int
    arg: int
    exists: bool | None  # None: nobody looked
    mode: int

    @property
    def name(self) -> str:
        return shown(self.resolved or self.path)


class Teller:
    """Takes calls in order. Knows what the processes run, the last few thousand of them."""

    def __init__(self, ours: Collection[str] = ()) -> None:
        """`ours`: folders in which programs of the run tell its recorder; that is told as what they say."""
        self._ours = tuple(f"{folder}/" for folder in ours)
        self._programs: OrderedDict[int, str] = OrderedDict()
        self._copies: set[int] = set()  # processes that have not started a program of their own

    def tell(self, row: Row) -> Happening | None:
        match row.op:
            case "process":
                self._born(row)
                return None
            case "exec":
                return self._started(row)
            case "exit":
                return self._ended(row)
        if row.op in _NET:
            return self._reached(row)
        return self._changed(row)

    def _born(self, row: Row) -> None:
        program = self._programs.get(row.arg >> _PID_BITS)
        if program is not None:
            self._know(row.process, program)
            self._copies.add(row.process)

    def _started(self, row: Row) -> Happening | None:
        if has_failed(row.result) or (row.result is None and row.exists is False):
            return None  # a shell looks for a program in one directory after the other
        words = (row.extra or b"").removesuffix(b"\0").split(b"\0") if row.extra else []
        argv = [shortened(shown(word)) for word in words[:_WORDS]]
        self._know(row.process, _last_name(shown(row.path) or row.name))
        self._copies.discard(row.process)
        more = f" … {row.arg} words in all" if row.arg > len(argv) else ""
        facts = {"path": row.name, "argv": argv}
        return self._told(row, PROCESS, "started", shlex.join(argv) + more if argv else row.name, facts=facts)

    def _ended(self, row: Row) -> Happening | None:
        ended = exit_of(row.arg & 0xFFFF)
        code, signal = ended.get("code"), ended.get("signal")
        told = self._told(
            row, PROCESS, "ended", f"by {signal}" if signal else f"with {code}", bad=code != 0, facts=ended
        )
        is_copy = row.process in self._copies
        self._programs.pop(row.process, None)
        self._copies.discard(row.process)
        return None if is_copy and code == 0 else told

    def _reached(self, row: Row) -> Happening | None:
        if not row.path:
            return None
        failed = has_failed_to_reach(row.op, row.result)
        word = f"{row.op} fails" if failed else _NET[row.op]
        detail = result_word(row.result) if failed else shown(row.extra) if row.op == "answer" else ""
        return self._told(row, NET, word, shown(row.path), detail=detail, bad=failed)

    def _changed(self, row: Row) -> Happening | None:
        bits, failed = effect(row.op, row.arg, row.notes, row.result, row.exists, row.mode)
        if failed or not bits & ~READ or stat.S_ISCHR(row.mode) or not row.name:
            return None
        if row.name.startswith(self._ours):
            return None
        if row.op in _RENAMES and row.extra:
            return self._told(row, FILE, "renamed", row.name, detail=f"-> {shown(row.extra)}")
        if row.op in _METADATA:
            return self._told(row, FILE, "changed", row.name, detail=row.op)
        word = "deleted" if bits & DELETED else "created" if bits & CREATED else "written"
        return self._told(row, FILE, word, row.name)

    def _told(self, row: Row, what: str, word: str, subject: str, **more: Any) -> Happening:
        process = None if row.process == _NOBODY else row.process
        program = self._programs.get(row.process)
        return Happening(
            row.mono_ns, what, word, shortened(subject), process=process, program=program, **more
        )

    def _know(self, process: int, program: str) -> None:
        self._programs[process] = program
        self._programs.move_to_end(process)
        while len(self._programs) > _KNOWN_PROGRAMS:
            forgotten, _ = self._programs.popitem(last=False)
            self._copies.discard(forgotten)


def shown(name: bytes | None) -> str:
    """Bytes of a name as text that JSON can hold."""
    return "" if name is None else name[:_MOST_BYTES].decode("utf-8", "backslashreplace")


def shortened(text: str) -> str:
    """The record has the whole; whoever watches needs its beginning."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _last_name(path: str) -> str:
    return path.rpartition("/")[2] or path


def gathered(happenings: Iterable[Happening]) -> list[Happening]:
    """The same in order, what one process did to one thing again and again once, with how often."""
    found: dict[tuple[object, ...], Happening] = {}
    for number, one in enumerate(happenings):
        again = one.what in {FILE, NET}
        key = (one.what, one.word, one.subject, one.detail, one.process) if again else (number,)
        first = found.get(key)
        found[key] = one if first is None else first._replace(times=first.times + one.times)
    return list(found.values())
