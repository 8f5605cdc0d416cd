"""What is laid at the door of which call: rows, names, and changes of files with what they leave open.

Nobody sees a file being closed, nor a write: a process may still have been able to write a file at a time
because it opened it before. The changes of some paths, with what was found there, tell whether a call changed
something where its result is not known.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import inf
from typing import ClassVar, NamedTuple, Self

from steno.agents.known import state_below_home
from steno.agents.made import STATE_VARIABLES
from steno.evidence import canonical, layout, wire
from steno.evidence.ignore_rules import lies_below
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch
from steno.judge.calls.processes import Processes
from steno.judge.calls.windows import Outside, Owner, Windows
from steno.judge.facts import RunFacts
from steno.judge.files import UNKNOWN_AFTER, After, FileLine, calls_of, file_lines
from steno.judge.operations import CHANGED, ON_CONTENT, OPENING, access, creates, effect, truncates
from steno.judge.path_history import MOUNTING, mounted_upon
from steno.judge.scan import Reading
from steno.judge.surface import NamesSeen

COLUMNS = (
    *("op", "process", "mono_ns", "resolved", "path", "arg", "notes", "result"),
    *("exists", "mode", "size", "mtime_ns"),
)
# A file's time may be that of the last tick, and wall-clock time is told in milliseconds.
TICK_NS = 12_000_000
_ONLY_LOOKS = frozenset({"list"})
_PASSED_OVER = wire.NOTES["deleted"] | wire.NOTES["other_root"]
_LATE = wire.NOTES["late"]
_GONE = frozenset({"unlink", "rmdir", "rename", "moved"})
_RENAMED, _NEW_NAME = frozenset({"rename", "moved"}), frozenset({"rename_to", "moved_to"})
_MAPPED = "map"
NO_CALL = -1
# Opened for writing, and no file: terminals, sinks, what a process says of itself, memory.
_NO_FILE = re.compile(
    rb"/dev/(?:null|zero|full|tty|ptmx|console|stdout|stderr|u?random|pts/(?:[0-9]+|ptmx)|(?:tty|hvc)[A-Z]*[0-9]+)"
    rb"|/proc/(?:[0-9]+|self|thread-self)/.*|/memfd:.*|(?:\A|/)[a-z_]+:\[[0-9]+\]",
    re.DOTALL,
)


class Change(NamedTuple):
    row: int
    op: str
    process: int
    at_ns: int
    path: bytes
    asked: bytes  # the same, unless a link or the like led there
    sure: bool  # known to have been done
    writable: bool  # whoever did it can write to the file from now on


class Found(NamedTuple):
    """What was there just before somebody changed it, or at the end of the run."""

    at_ns: float
    call: int = NO_CALL  # in whose window it was changed
    exists: bool | None = None  # None: nobody looked
    size: int | None = None  # None: nothing was there, or nobody looked
    mtime_ns: int | None = None
    mode: int = 0

    def differs(self, other: Found) -> bool:
        """Whether it is known to have become another."""
        if self.exists is None or other.exists is None:
            return False
        if self.exists != other.exists or self.mode != other.mode:
            return True
        # The time of a directory is that of what is in it.
        figures = (self.size, self.mtime_ns) != (other.size, other.mtime_ns)
        return self.exists and figures and not stat.S_ISDIR(self.mode)


def is_file(path: bytes) -> bool:
    return not _NO_FILE.fullmatch(path)


def changed(seen: NamesSeen) -> Iterator[bytes]:
    """The files that were changed."""
    return (path for (path, _), done in seen.files.done.items() if done & CHANGED and is_file(path))


def changes(batch: RowBatch, wanted: Collection[int] | None = None) -> Iterator[Change]:
    """In order, without what is known to have failed. `wanted`: only of these rows."""
    rows = batch.rows_of(ON_CONTENT - _ONLY_LOOKS)
    if wanted is not None:
        rows = [row for row in rows if row in wanted]
    rows = [
        row
        for row, op, arg in zip(rows, batch.ops(rows), batch.numbers("arg", rows), strict=True)
        if op not in OPENING or access(arg) != "read" or truncates(arg) or creates(arg)
    ]
    columns = (
        rows,
        batch.ops(rows),
        batch.numbers("process", rows),
        batch.numbers("mono_ns", rows),
        batch.texts("resolved", rows),
        batch.texts("path", rows),
        batch.numbers("arg", rows),
        batch.numbers("notes", rows),
        batch.optional("result", rows),
        batch.optional("exists", rows),
        batch.modes(rows),
    )
    for row, op, process, at_ns, resolved, asked, arg, notes, result, exists, mode in zip(
        *columns, strict=True
    ):
        path = resolved or (asked if asked and asked.startswith(b"/") else None)
        if not path or notes & _PASSED_OVER or not is_file(path):
            continue
        bits, failed = effect(op, arg, notes, result, exists, mode)
        if bits & CHANGED and not failed:
            writable = op == _MAPPED or (op in OPENING and access(arg) != "read")
            yield Change(row, op, process, at_ns, path, asked or path, sure=result == 0, writable=writable)


def states_after(layers: Layers, paths: Collection[bytes]) -> dict[bytes, After]:
    """How these files were when the run had ended, as far as that is known."""
    if not paths or not layers.has(layout.FILE_LINES):
        return {}
    mounts = Reading.of(layers).scanned(Mounts).found
    lines = (line for line in file_lines(layers) if isinstance(line, FileLine))
    found = {path: line.after for line in lines if (path := line.path_bytes) in paths}
    return {path: UNKNOWN_AFTER if lies_below(path, mounts) else after for path, after in found.items()}


class Mounts:
    """The directories upon which the run mounted something: below them a name is of several files."""

    columns: ClassVar[tuple[str, ...]] = ("op", "resolved", "arg", "notes", "result", "exists", "mode")

    def __init__(self) -> None:
        self.found: set[bytes | None] = set()

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def take(self, batch: RowBatch) -> None:
        if rows := batch.rows_of(MOUNTING):
            self.found |= mounted_upon(calls_of(batch, rows))


def number(value: int | str | None) -> int | None:
    return None if value is None else canonical.integer(value)


class _Opened:
    """A file that a process has opened to write, under one name."""

    __slots__ = ("mapped", "path", "process", "start", "until")

    def __init__(self, path: bytes, process: int, start: int, *, mapped: bool) -> None:
        self.path = path
        self.process = process
        self.start = start
        self.until: float = inf
        self.mapped = mapped


class Held:
    """Files that processes opened to write, and from when until when they may have them open."""

    def __init__(self, of_processes: Callable[[int], bool]) -> None:
        self._is_watched = of_processes
        self._by_path: defaultdict[bytes, list[_Opened]] = defaultdict(list)
        self._known: set[tuple[int, bytes, bool]] = set()
        self._all: list[_Opened] = []
        self._moving: dict[int, list[_Opened]] = {}  # of a rename whose other half follows

    @property
    def paths(self) -> set[bytes]:
        return {one.path for one in self._all}

    def take(self, change: Change) -> None:
        if change.writable:
            if self._is_watched(change.process):
                self._open(change.path, change.process, change.at_ns, mapped=change.op == _MAPPED)
        elif change.op in _GONE:
            open_ = self._by_path.get(change.path, [])
            if change.op in _RENAMED:
                self._moving[change.process] = [*open_]
            if change.sure:
                self._gone(change.path, change.at_ns)
        elif change.op in _NEW_NAME:
            for one in self._moving.pop(change.process, ()):
                self._open(change.path, one.process, change.at_ns, mapped=one.mapped)

    def _open(self, path: bytes, process: int, at_ns: int, *, mapped: bool) -> None:
        key = process, path, mapped
        if key not in self._known:
            self._known.add(key)
            one = _Opened(path, process, at_ns, mapped=mapped)
            self._all.append(one)
            self._by_path[path].append(one)

    def _gone(self, path: bytes, at_ns: int) -> None:
        """The name is gone; what is written to the file now is in no file any more, or under a new name."""
        for one in self._by_path.pop(path, ()):
            one.until = at_ns
            self._known.discard((one.process, path, one.mapped))

    def settle(self, processes: Processes, after: Mapping[bytes, After], origin_ns: int) -> None:
        """All was taken. Nobody holds a file after they ended, or has written it after its last time."""
        ends = ends_of_lines(processes)
        for one in self._all:
            one.until = min(one.until, ends.get(one.process, inf))
            state = after.get(one.path)
            mtime_ns = None if state is None or state.kind != "file" else number(state.mtime_ns)
            if mtime_ns is not None and not one.mapped:
                one.until = min(one.until, mtime_ns - origin_ns + TICK_NS)

    def by(self, holders: Callable[[int, bytes], Iterable[object]]) -> dict[object, HeldBelow]:
        """`holders`: to whom a file counts that a process holds. For each of them the files."""
        below: defaultdict[object, list[_Opened]] = defaultdict(list)
        for one in self._all:
            if one.until > one.start:
                for root in holders(one.process, one.path):
                    below[root].append(one)
        return {root: HeldBelow(found) for root, found in below.items()}


class HeldBelow:
    def __init__(self, opened: Iterable[_Opened]) -> None:
        ordered = sorted(opened, key=lambda one: one.start)
        self._starts = [one.start for one in ordered]
        self._longest: list[_Opened] = []  # up to each: the one that is held for the longest time
        for one in ordered:
            last = self._longest[-1] if self._longest else one
            self._longest.append(one if one.until > last.until else last)

    def at(self, at_ns: int) -> bytes | None:
        """A file that may have been open to be written when this moment came."""
        before = bisect_right(self._starts, at_ns - 1)
        if before and self._longest[before - 1].until > at_ns:
            return self._longest[before - 1].path
        return None


class Witnessed:
    """Every change of some paths, with what was found there: of those that are wanted by name, under which
    they may be asked for by way of a link, and of those that wanted calls change without a known result."""

    def __init__(self, paths: Collection[bytes], calls: Collection[int] = ()) -> None:
        self._paths = set(paths)
        self._calls = calls
        self.by_path: defaultdict[bytes, list[Found]] = defaultdict(list)
        self.behind: defaultdict[bytes, set[bytes]] = defaultdict(set)  # a wanted name: where it led

    def take(self, batch: RowBatch, found: Iterable[tuple[Change, int]]) -> None:
        """Changes, each with the call in whose window it was made."""
        wanted = [(change, call) for change, call in found if self._is_wanted(change, call)]
        rows = [change.row for change, _ in wanted]
        columns = (
            batch.optional("size", rows),
            batch.optional("mtime_ns", rows),
            batch.optional("exists", rows),
            batch.modes(rows),
            batch.numbers("notes", rows),
        )
        for (change, call), size, mtime_ns, exists, mode, notes in zip(wanted, *columns, strict=True):
            state = Found(change.at_ns, call)
            if exists is not None and not notes & _LATE:  # later is not before
                state = Found(change.at_ns, call, bool(exists), size, mtime_ns, mode)
            self.by_path[change.path].append(state)

    def _is_wanted(self, change: Change, call: int) -> bool:
        if change.asked in self._paths and change.asked != change.path:
            self.behind[change.asked].add(change.path)
            self._paths.add(change.path)
        elif call in self._calls and not change.sure:
            self._paths.add(change.path)
        return change.path in self._paths


def ends_of_lines(processes: Processes) -> dict[int, float]:
    """When a process and all that came of it had ended: children have what their parents had opened."""
    ends: dict[int, float] = {}
    for one, process in sorted(processes.by_number.items(), reverse=True):
        own = inf if process.ended_ns is None else process.ended_ns
        ends[one] = max(ends.get(one, 0), own)
        parent = process.parent or 0
        late = parent > one  # no table of ours; nothing is known of its end
        ends[parent] = inf if late else max(ends.get(parent, 0), ends[one])
    return ends


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


class EffectsOfCalls:
    """What was done in each call, by the agent's own process and by others, in groups, and outside."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.alone: defaultdict[int, NamesSeen] = defaultdict(NamesSeen)
        self.own: defaultdict[int, NamesSeen] = defaultdict(NamesSeen)
        self.shared: defaultdict[int, NamesSeen] = defaultdict(
            NamesSeen
        )  # by the call that stands for its group
        self.nobody = NamesSeen()
        self.by_servers: defaultdict[str, NamesSeen] = defaultdict(NamesSeen)
        self.execs: defaultdict[int, list[Exec]] = defaultdict(list)

    def take(self, owner: Owner | Outside | None, seen: NamesSeen, windows: Windows) -> None:
        if not isinstance(owner, Owner):
            self.nobody.add(seen)
            if owner is not None and owner.server is not None:
                self.by_servers[owner.server].add(seen)
        elif owner.several:
            self.shared[windows.groups.of(owner.call)].add(seen)
        else:
            (self.own if owner.own else self.alone)[owner.call].add(seen)


_TMP = "/tmp"  # noqa: S108 - what programs take when TMPDIR is not set
# Of all programs, agents included: below the home, and below what a variable names.
_STATE_OF_PROGRAMS = (".cache/", ".local/state/")
_STATE_VARIABLES = {"XDG_STATE_HOME": "", "XDG_CACHE_HOME": ""}


class SortedOut(NamedTuple):
    own: list[bytes]
    elsewhere: list[bytes]
    unsure: list[bytes]  # where an agent keeps its state, in the project itself


class OwnState(NamedTuple):
    prefixes: tuple[bytes, ...]  # how the paths begin
    projects: tuple[bytes, ...]  # where the run began, and its repository: nothing below is the agent's own

    @staticmethod
    def of(facts: RunFacts) -> OwnState:
        root = None if facts.before is None else facts.before.root
        places = (place for place in (facts.start.cwd, root) if place)
        return OwnState(
            tuple(_bytes(prefix) for prefix in _prefixes(facts.start.env)),
            tuple(_bytes(f"{place.rstrip('/')}/") for place in places),
        )

    def sorted_out(self, paths: Iterable[bytes]) -> SortedOut:
        found = SortedOut([], [], [])
        for path in paths:
            self._kind(path + b"/", found).append(path)
        return found

    def has(self, path: bytes) -> bool:
        return bool(self.sorted_out([path]).own)

    def _kind(self, path: bytes, found: SortedOut) -> list[bytes]:
        prefixes = [prefix for prefix in self.prefixes if path.startswith(prefix)]
        projects = [project for project in self.projects if path.startswith(project)]
        if not prefixes:
            return found.elsewhere
        if not projects:
            return found.own
        inner, outer = max(prefixes, key=len), max(projects, key=len)
        return found.unsure if inner.startswith(outer) and inner != outer else found.elsewhere


def _prefixes(environment: dict[str, str | None]) -> list[str]:
    found = [environment.get("TMPDIR") or _TMP]
    for variable, below in {**_STATE_VARIABLES, **STATE_VARIABLES}.items():
        directory = environment.get(variable)
        if directory and directory.strip("/"):
            found.append(f"{directory.rstrip('/')}/{below}")
    found = [f"{directory.rstrip('/')}/" for directory in found if directory.strip("/")]
    if home := environment.get("HOME"):
        names = (*sorted(state_below_home()), *_STATE_OF_PROGRAMS)
        found += [f"{home.rstrip('/')}/{name}" for name in names]
    return found


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
