"""Files that the run changed, and somebody else after it: which, and what tells so.

The run had removed it, and it is there; it is another file than the one that the run had found or left; it
was written when no process of the run could still have it open. Where one could, nobody can say who wrote
last: those are told apart, if it is long after the run opened them. What the run then destroyed of it is
named by the key of its content, where that was kept. What somebody did before the run's own first change is
the state before, and no matter of this.
"""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import ClassVar, NamedTuple, Self

from steno.evidence import wire
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch
from steno.judge.calls.attribution import TICK_NS, Mounts, ends_of_lines, number, states_after
from steno.judge.calls.processes import Processes
from steno.judge.files import After
from steno.judge.operations import CHANGING, NEEDING, ON_FILES, OPENING, Call, access, has_failed, operations
from steno.judge.processes import Told, processes
from steno.judge.scan import Reading

REMADE = "the run removed it, and somebody else has made it again"
REPLACED = "somebody else replaced it during the run"
WRITTEN = "somebody else wrote to it after the run had"
UNCLEAR = "it was written long after the run had opened it: by the run or by somebody else"
DESTROYED = "somebody else wrote it during the run, and the run destroyed it"
PERHAPS_DESTROYED = "written long after the run had opened it, by the run or by somebody else, and destroyed"

_MILLI = 10**6
_LONG_NS = 10**9
_PASSED_OVER = wire.NOTES["deleted"] | wire.NOTES["other_root"]
_LATE, _EXCHANGE = wire.NOTES["late"], wire.NOTES["exchange"]
_REMOVING = frozenset({"unlink", "rmdir", "rename", "moved"})
_BRINGING = frozenset({"rename_to", "moved_to", "link_to"})
_RENAMING = frozenset({"rename", "rename_to"})
_LISTED = frozenset({"moved", "moved_to"})
_MAKING = frozenset({"mkdir", "symlink", "mknod"})
_TIMING = frozenset({"utimes", "setattr"})

_File = tuple[int | None, int | None, int | None]  # inode, size, time
_Node = tuple[int | None, int | None]  # device, inode


class Destroyed(NamedTuple):
    """The content of a file that the run had changed, as it was before the run destroyed it."""

    path: bytes
    blob: str
    why: str


class Others(NamedTuple):
    changed: dict[bytes, str]
    unclear: dict[bytes, str]
    destroyed: list[Destroyed]


class _Version(NamedTuple):
    """A content that was kept after the run had changed the path for the first time."""

    path: bytes
    blob: str
    mtime_ns: int
    is_theirs: bool  # it is another file than the one that the run left
    last_ns: int  # the run's last change before it
    writers: frozenset[int]


class _Work:
    """What the run did to a file, by whatever name: when last, and who may still write."""

    __slots__ = ("last_ns", "writers")

    def __init__(self) -> None:
        self.last_ns = -1
        self.writers: set[int] = set()


class Watched:
    """What the run did to every path."""

    columns: ClassVar[tuple[str, ...]] = (
        *("op", "process", "mono_ns", "resolved", "extra", "arg", "notes", "result"),
        *("exists", "mode", "dev", "ino", "size", "mtime_ns", "file", "blob"),
    )

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def __init__(self) -> None:
        self.paths: dict[bytes, _Path] = {}
        self.files: defaultdict[_Node, _Work] = defaultdict(_Work)  # regular ones
        self.moves = 0  # of directories so far: what is below one has another name
        self.versions: list[_Version] = []
        self._numbers: set[int] = set()  # of files, as rows tell them
        self._exchanging: dict[
            int, int
        ] = {}  # by process: what lies in directories is told after their rename

    def take(self, batch: RowBatch) -> None:
        _take(batch, self)

    def notes_of(self, op: str, process: int, notes: int) -> int:
        """Those of the call: it tells only at its own two names that they were exchanged."""
        if op in _RENAMING:
            self._exchanging[process] = notes & _EXCHANGE
        return notes | self._exchanging.get(process, 0) if op in _LISTED else notes

    def keep(self, path: bytes, one: _Path, file: int, blob: str | None, mtime_ns: int | None) -> None:
        """A file has another number when a later content of it is kept."""
        is_new = file not in self._numbers
        self._numbers.add(file)
        is_theirs = one.why in {REMADE, REPLACED}
        is_another = is_new and one.last_ns >= 0 and (is_theirs or not one.timed)
        if is_another and blob is not None and mtime_ns is not None:
            version = _Version(path, blob, mtime_ns, is_theirs, one.last_ns, frozenset(one.writers))
            self.versions.append(version)

    def add_other_names(self, one: _Path, node: _Node) -> None:
        """What the run did to the file by other names it did to this one, too."""
        if (work := self.files.get(node)) is not None:
            one.last_ns = max(one.last_ns, work.last_ns)
            one.writers |= work.writers

    def at(self, path: bytes) -> _Path:
        one = self.paths.get(path)
        if one is None:
            one = self.paths[path] = _Path()
        if one.moves != self.moves:
            one.moves, one.expected = self.moves, None
        return one


class _Path:
    """What the run did to a path so far, and what should be there since."""

    __slots__ = ("expected", "last_ns", "moves", "node", "removed", "sure", "timed", "why", "writers")

    def __init__(self) -> None:
        self.last_ns = -1  # of its changes; -1: none yet
        self.writers: set[int] = set()
        self.expected: int | None = None  # inode
        self.node: _Node | None = None  # of what was last seen there
        self.moves = 0  # how many directories had been renamed when it was last looked at
        self.removed: _File | None = None  # what was there when the run removed it; None: it did not
        self.sure = False  # the removal is known to have succeeded
        self.timed = False  # its time need not be that of the last write
        self.why = ""

    def stay(self, node: _Node) -> None:
        """Between two names of one file rename(2) does nothing."""
        if self.removed is not None and self.node == node:
            self.removed, self.expected = None, node[1]


SCANS = (Watched, Mounts, Told)


def changed_by_others(layers: Layers) -> Others:
    reading = Reading.of(layers)
    reading.expect(SCANS)
    watched = reading.scanned(Watched)
    changed = {path: one for path, one in watched.paths.items() if one.last_ns >= 0}
    after = states_after(reading, changed)
    ends = ends_of_lines(Processes(reading.once(processes)))
    origin_ns = min(event.ts_ms * _MILLI - event.mono_ns for event in layers.events())
    others = Others({}, {}, [])
    for path, one in changed.items():
        if (state := after.get(path)) is not None and state.exists:
            if one.node is not None:
                watched.add_other_names(one, one.node)
            why = one.why or _at_the_end(one, state, ends, origin_ns)
            if why:
                (others.unclear if why == UNCLEAR else others.changed)[path] = why
    for version in watched.versions:
        why = _when_written(version.mtime_ns - origin_ns, version.last_ns, version.writers, ends)
        if version.is_theirs or why == WRITTEN:
            others.destroyed.append(Destroyed(version.path, version.blob, DESTROYED))
        elif why == UNCLEAR:
            others.destroyed.append(Destroyed(version.path, version.blob, PERHAPS_DESTROYED))
    return others


def _take(batch: RowBatch, watched: Watched) -> None:
    rows = batch.rows_of(ON_FILES)
    columns = (
        batch.ops(rows),
        batch.texts("resolved", rows),
        batch.texts("extra", rows),
        batch.numbers("process", rows),
        batch.numbers("mono_ns", rows),
        batch.numbers("arg", rows),
        batch.numbers("notes", rows),
        batch.optional("result", rows),
        batch.optional("exists", rows),
        batch.modes(rows),
        batch.optional("dev", rows),
        zip(*(batch.optional(name, rows) for name in ("ino", "size", "mtime_ns")), strict=True),
        batch.optional("file", rows) if batch.tells_contents else [None] * len(rows),
        batch.blobs(rows),
    )
    for op, path, other, process, at_ns, arg, notes, result, exists, mode, dev, found, file, blob in zip(
        *columns, strict=True
    ):
        if not path or notes & _PASSED_OVER:
            continue
        one = watched.at(path)
        if exists:
            one.node = dev, found[0]
        if op == "rename_to" and exists and other:
            watched.at(other).stay((dev, found[0]))
        if exists is not None and not notes & _LATE:
            _look(one, found if exists else None, mode)
        of_call = watched.notes_of(op, process, notes)
        call = Call(op, arg, of_call, failed=has_failed(result), mode=mode, absent=exists == 0)
        if not operations(call) & CHANGING or (call.absent and op in NEEDING):
            continue
        if file:
            watched.keep(path, one, file, blob, found[2])
        one.last_ns = at_ns
        _change(one, call, process, found, sure=result == 0)
        if one.node is not None and stat.S_ISREG(mode):
            watched.files[one.node].last_ns = at_ns
            watched.files[one.node].writers |= one.writers
        if stat.S_ISDIR(mode) and op in _RENAMING:
            watched.moves += 1


def _look(one: _Path, found: _File | None, mode: int) -> None:
    if one.last_ns < 0 or stat.S_ISDIR(mode):
        return
    if found is None:
        one.expected = None
        return
    if one.removed is not None and (one.sure or found != one.removed):
        one.why = REMADE
    elif one.expected is not None and found[0] != one.expected:
        one.why = REPLACED
    one.expected, one.removed = found[0], None


def _change(one: _Path, call: Call, process: int, found: _File, *, sure: bool) -> None:
    if call.op in _REMOVING and not call.notes & _EXCHANGE:
        one.removed, one.sure, one.expected = found, sure, None
        return
    if call.op in _TIMING or call.op in _BRINGING or call.notes & _EXCHANGE:
        one.timed = True
    if call.op in _BRINGING or call.op in _MAKING or call.absent or call.notes & _EXCHANGE:
        one.expected = one.removed = None
    if call.op == "map" or (call.op in OPENING and access(call.arg) != "read"):
        one.expected = None if call.absent else found[0]
        one.writers.add(process)


def _at_the_end(one: _Path, state: After, ends: Mapping[int, float], origin_ns: int) -> str:
    mtime_ns = number(state.mtime_ns)
    if one.removed is not None:
        same = not one.sure and (number(state.size), mtime_ns) == one.removed[1:]
        return "" if same else REMADE
    if one.timed or state.kind != "file" or mtime_ns is None:
        return ""
    return _when_written(mtime_ns - origin_ns, one.last_ns, one.writers, ends)


def _when_written(at_ns: int, last_ns: int, writers: Collection[int], ends: Mapping[int, float]) -> str:
    written_ns = at_ns - TICK_NS
    if written_ns > max([last_ns, *(ends.get(process, 0) for process in writers)]):
        return WRITTEN
    return UNCLEAR if written_ns > last_ns + _LONG_NS else ""
