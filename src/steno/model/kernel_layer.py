"""What the kernel saw of one run, as its sealed bundle holds it.

In: an open record. Out: its processes, its files and its lines of `syscalls.ndjson`, each field checked
for its type. A run that has no such layer is a `BadRequestError` that says why; what cannot be read is an
`UnreadableBundleError`. Never verifies, never writes, never holds more than one line of the events.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec

from steno.bundle.judged import Files
from steno.bundle.reader import MAX_LINE, MAX_SMALL_FILE, lines_of
from steno.bundle.store import RunState
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import canonical, layout
from steno.judge.one_pass import Reading
from steno.judge.operations import CHANGING_CALLS, OPENING
from steno.model.record import Record

Whole = int | str  # canonical JSON writes an integer beyond 2^53 as a string
# of a call's result: it came to pass, or nothing says that it did not
NO_ERROR = frozenset({"ok", "unknown"})
_BOUND = 1 << 63
_Decoded = TypeVar("_Decoded")


class Interpreter(msgspec.Struct, frozen=True):
    path: str | None = None
    argument: str | None = None


class Exec(msgspec.Struct, frozen=True):
    argv: list[str]
    argc: Whole = 0
    argv_cut: bool = False
    requested: str | None = None
    path: str | None = None
    interpreter: Interpreter | None = None
    result: str = "unknown"
    privilege_lost: bool = False
    at_ns: Whole = 0

    @property
    def program(self) -> str:
        path = self.requested or self.path or (self.argv[0] if self.argv else "?")
        return path.rpartition("/")[2] or path

    @property
    def has_started(self) -> bool:
        return self.result in NO_ERROR


class Exit(msgspec.Struct, frozen=True):
    code: int | None = None
    signal: str | None = None
    core: bool = False


class Process(msgspec.Struct, frozen=True):
    process: int
    parent: int
    first_ns: Whole
    ended_ns: Whole | None = None
    execs: list[Exec] = []
    exit: Exit | None = None
    exit_known: str = "unknown"
    outlived: bool = False
    pid: Whole | None = None
    threads: int = 0
    events: int = 0
    role: str = "tool"


class State(msgspec.Struct, frozen=True):
    """A path before or after the run; without `exists` it is not known."""

    exists: bool | None = None
    tombstone: bool = False
    type: str | None = None
    mode: int | None = None
    mtime: Whole | None = None
    mtime_ns: Whole | None = None
    uid: int | None = None
    gid: int | None = None
    size: Whole | None = None
    target: str | None = None
    target_b64: str | None = None
    blob: str | None = None
    content: str | None = None  # why there is no blob


class Git(msgspec.Struct, frozen=True):
    in_repo: bool = True
    root: str | None = None
    head: str | None = None
    relative_path: str | None = None
    tracked: bool = False
    dirty: bool = False
    ignored: bool = False


class Repository(msgspec.Struct, frozen=True):
    root: str
    head: str | None
    dirty: bool | None


class File(msgspec.Struct, frozen=True):
    path: str
    operations: list[str]
    before: State
    after: State
    change: str = "none"
    by_others: bool = False
    path_b64: str | None = None
    git: Git | None = None

    @property
    def name(self) -> bytes:
        return bytes_of(self.path, self.path_b64)


class Rename(msgspec.Struct, frozen=True):
    old: str = msgspec.field(name="from")
    new: str = msgspec.field(name="to")
    old_b64: str | None = msgspec.field(name="from_b64", default=None)
    new_b64: str | None = msgspec.field(name="to_b64", default=None)
    exchange: bool = False


class Line(msgspec.Struct, frozen=True):
    """What one process did to one path in one way, however often."""

    process: int
    op: str
    category: str
    result: str
    count: int
    first_ns: Whole
    last_ns: Whole
    path: str | None = None
    path_b64: str | None = None
    access: str | None = None
    create: bool = False
    truncate: bool = False

    @property
    def may_change(self) -> bool:
        """Whether it changed the path, or opened it to."""
        if self.op in OPENING:
            return self.access != "read" or self.create or self.truncate
        return self.op in CHANGING_CALLS


class _Processes(msgspec.Struct):
    processes: list[dict[str, Any]]


class _Files(msgspec.Struct):
    files: list[dict[str, Any]]


class _Repositories(msgspec.Struct):
    git_repositories: list[Repository]


class _Renames(msgspec.Struct):
    directory_renames: list[Rename]


class Seen(NamedTuple):
    """A file as the bundle tells it, and the same in checked fields."""

    told: dict[str, Any]
    file: File


_line = msgspec.json.Decoder(Line)


def has_kernel_layer(record: Record) -> bool:
    return record.state is RunState.SEALED and record.run.has(layout.KERNEL_TABLE)


class KernelLayer:
    def __init__(self, record: Record) -> None:
        self.run = record.run
        self.judged = record.files
        self.run_id = record.run_id
        self.layers = record.layers

    @property
    def own_processes(self) -> frozenset[int]:
        """Those of Steno's own hooks."""
        return Reading.of(self.layers).own.processes

    def told_processes(self) -> list[dict[str, Any]]:
        return told_processes(self.judged)

    def processes(self) -> list[Process]:
        return processes_of(self.judged)

    def files(self) -> list[Seen]:
        return files_of(self.judged)

    def told_files(self) -> dict[bytes, dict[str, Any]]:
        """The files as they are told in JSON, by their names."""
        return {seen.file.name: seen.told for seen in self.files()}

    def repositories(self) -> list[Repository]:
        return read_json(self.judged, layout.FILES, _Repositories).git_repositories

    def lines(self, category: str) -> Iterator[Line]:
        return lines_in(self.judged, category)


def files_of(documents: Files) -> list[Seen]:
    """Also of a record that lost something else."""
    told = read_json(documents, layout.FILES, _Files).files
    with checked(documents, layout.FILES):
        files = msgspec.convert(told, list[File])
    return [Seen(one, file) for one, file in zip(told, files, strict=True)]


def processes_of(documents: Files) -> list[Process]:
    with checked(documents, layout.PROCESSES):
        return msgspec.convert(told_processes(documents), list[Process])


def told_processes(documents: Files) -> list[dict[str, Any]]:
    return read_json(documents, layout.PROCESSES, _Processes).processes


def lines_in(documents: Files, category: str) -> Iterator[Line]:
    """The lines of one category, in order."""
    with checked(documents, layout.KERNEL_LINES):
        for text in lines_of(documents, layout.KERNEL_LINES, MAX_LINE, ValueError):
            found = _line.decode(text)
            if found.category == category:
                yield found


def renames_of(documents: Files) -> list[Rename]:
    return read_json(documents, layout.FILES, _Renames).directory_renames


def bytes_of(text: str, base64: str | None) -> bytes:
    """The bytes of a name; text that is not UTF-8 stands beside its base64."""
    try:
        return text.encode() if base64 is None else b64decode(base64, validate=True)
    except ValueError as error:
        raise UnreadableBundleError(
            f"a name in the record cannot be read: {error}", hint="`steno verify` says more"
        ) from error


def whole(number: Whole) -> int:
    try:
        found = canonical.integer(number)
    except canonical.NotCanonicalError as error:
        raise _unreadable(str(error)) from error
    if not -_BOUND <= found < _BOUND:
        raise _unreadable("it is beyond 64 bits")
    return found


def _unreadable(why: str) -> UnreadableBundleError:
    return UnreadableBundleError(
        f"a number in the record cannot be read: {why}", hint="`steno verify` says more"
    )


@contextmanager
def checked(run: Files, path: str) -> Iterator[None]:
    """What is wrong with one file of a bundle is told as an error of the bundle."""
    try:
        yield
    except (OSError, ValueError, LookupError, msgspec.MsgspecError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableBundleError(
            f"{run.path / path} cannot be read: {why}", hint=f"`steno verify {run.path}` says more"
        ) from error


def read_json(run: Files, path: str, kind: type[_Decoded]) -> _Decoded:
    """A whole file of a bundle, as a kind of data; what is there beyond that is passed over."""
    with checked(run, path):
        limit = min(run.size(path), MAX_SMALL_FILE)  # as much is set aside before it is read
        return msgspec.json.decode(run.read_all(path, limit), type=kind)


def how_to_seal(state: RunState, run_id: str) -> str:
    """For a run without a recorder: the observer of the kernel may outlive it, with the command."""
    after = "when its command has ended, " if state is RunState.ORPHANED else ""
    return f"{after}`steno recover {run_id}` seals what was recorded"


def not_yet(record: Record, what: str) -> BadRequestError | None:
    """Why something is not told of a run: it is not sealed. None: it is."""
    if record.state is RunState.RUNNING:
        return BadRequestError(
            f"this run is still going on: {what} told when it has ended",
            hint=f"`steno show {record.run_id}` tells the facts so far",
        )
    if record.state is not RunState.SEALED:
        return BadRequestError(
            f"this run is not sealed: {what} told when it is",
            hint=how_to_seal(record.state, record.run_id),
        )
    return None


def why_not(record: Record) -> BadRequestError:
    """Why nothing is told of what the kernel saw."""
    start = record.facts.start
    why = start.unobserved or f"it was recorded with observer {start.observer!r}"
    return not_yet(record, "what the kernel saw is") or BadRequestError(
        f"this run has no kernel layer: {why}",
        hint="`steno doctor` says whether this machine can observe the kernel; then record the run again",
    )
