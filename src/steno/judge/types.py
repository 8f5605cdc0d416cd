"""What is concluded from a record, one type for each fact, which are the rows of a run's tables too.

A column has the same name in Python, Arrow, SQL and JSON. `None` is: not known, or there is none. Fields that
end in `_ns` are nanoseconds since the recording began, but for the times of files, which are those of the
file system. `process`, `call` and `exec` are keys of the tables that have these names. A path whose bytes are
not UTF-8 is shown with `\\xNN` for each such byte, and stands beside that as it is, in `path_bytes`.
"""

from __future__ import annotations

import shlex
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec

from steno.evidence import wire
from steno.evidence.linux_numbers import signal_name
from steno.judge.operations import CHANGING_CALLS, OPENING
from steno.judge.surface_names import text

ABSENT = "absent"
_READING = frozenset({"read", "execute"})
_WITH_CONTENT = frozenset({"file", "symlink"})
GONE_AGAIN = "t"  # it was made and is gone
_BY_OTHERS = "o"
_LETTERS = {"created": "A", "modified": "M", "deleted": "D", "metadata": "m"}
# what came of connecting to an address, in words
CONNECTED, NOT_SEEN, FAILED = "connected", "attempted, outcome not seen", "refused or failed"
ADDRESS_SET = "address set, sending not seen"
CONNECTED_OR_SET = "connected, or only an address set"
TOOL, STENO = "tool", "steno"  # roles of processes: any of the run; one of our hooks
TOP = 0  # the number that stands for a parent which is not known
# of a call's result: it came to pass, or nothing says that it did not
NO_ERROR = frozenset({"ok", "unknown"})
_INTERNET = frozenset({"inet", "inet6"})
_FIRST_SIGNAL = 128
_NUMBERS = {signal_name(number): number for number in range(1, 128)}
_CATEGORIES = {op.name: op.category for op in wire.OPS.values()}
Outcome = Literal["done", "failed", "unknown"]
Identity = tuple[int, int]  # device and inode
Json = Annotated[str, "JSON"]
Small = Annotated[int, "small"]  # exact in every language; of another whole number JSON may have text


def beside(name: bytes) -> bytes | None:
    """The name as it is, where its text does not say that."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return name
    return None


def name_of_address(address: str) -> str:
    family, _, rest = address.partition(":")
    return rest if family in _INTERNET or (family == "unix" and rest) else address


def outcome_of(result: str) -> tuple[Outcome, str | None]:
    """What came of a call, and the name of its error, by the word for its result."""
    if result == "ok":
        return "done", None
    return ("unknown", None) if result == "unknown" else ("failed", result)


def result_of(outcome: Outcome, error: str | None) -> str:
    """`ok`, `unknown`, or the name of the error."""
    return error or ("ok" if outcome == "done" else "unknown")


class Row(msgspec.Struct, frozen=True):
    """One row of a table. Its columns are its fields, or what `COLUMNS` names: fields and properties."""

    COLUMNS: ClassVar[tuple[str, ...]] = ()


class RunInfo(Row, frozen=True):
    """What is known of a run as a whole."""

    run_id: str
    name: str | None
    state: str
    command: list[str]
    cwd: str
    started_at_ms: int
    duration_ns: int
    command_ns: int | None
    exit_code: int | None
    signal: str | None
    completed: bool
    complete: bool  # nothing that should be in the record is missing
    observer: str
    kernel_layer: str
    machine: str
    steno_version: str
    format: int | None
    rules: int
    root: str | None


class Exec(Row, frozen=True, kw_only=True):
    """A program that a process became, or tried to become."""

    COLUMNS = (
        *("exec", "process", "at_ns", "requested", "executable", "arguments", "n_arguments"),
        *("arguments_cut", "interpreter", "outcome", "error", "privilege_lost"),
    )
    exec: Small = 0
    process: Small
    at_ns: int
    requested_bytes: bytes
    executable_bytes: bytes
    words: list[bytes]  # its arguments as they are
    n_arguments: int  # with those that are not kept
    arguments_cut: bool
    interpreter_bytes: bytes | None = None
    interpreter_argument: bytes | None = None
    outcome: Outcome
    error: str | None
    privilege_lost: bool

    @property
    def requested(self) -> str | None:
        return text(self.requested_bytes)

    @property
    def executable(self) -> str | None:
        return text(self.executable_bytes)

    @property
    def arguments(self) -> list[str]:
        return list(map(text, self.words))

    @property
    def interpreter(self) -> str | None:
        return None if self.interpreter_bytes is None else text(self.interpreter_bytes)

    @property
    def has_started(self) -> bool:
        """That is, nothing says that it did not."""
        return self.outcome != "failed"

    @property
    def program(self) -> str:
        path = self.requested or self.executable or (text(self.words[0]) if self.words else "?")
        return path.rpartition("/")[2] or path

    @property
    def result(self) -> str:
        """`ok`, `unknown`, or the name of the error."""
        return result_of(self.outcome, self.error)


class Process(Row, frozen=True, kw_only=True):
    """A process that was seen, with the last program that it became."""

    COLUMNS = (
        *("process", "parent", "pid", "program", "command", "started_ns", "ended_ns", "exit_code", "signal"),
        *("core_dumped", "end_known", "still_running", "threads", "n_events", "label", "title", "alike"),
        "role",
    )
    process: Small
    parent: Small | None = None
    pid: Small | None = None
    start_ticks: int | None = None  # as the kernel counts, by which it is known beside its number
    started_ns: int
    ended_ns: int | None = None
    exit_code: Small | None = None
    signal: str | None = None
    core_dumped: bool = False
    end_known: str = "unknown"  # by whom its end is told: kernel, asked (it only asked for it) or unknown
    still_running: bool = False  # when the recording ended; of a run that goes on, now
    threads: Small = 0
    n_events: Small = 0
    execs: list[Exec] = []
    label: str = ""  # its program; a copy of a process is what that is
    title: str = ""  # all that it was, its last command line in full
    alike: Small = 0  # the same number where two, with all that they started, did the same
    # command: the first one; agent: it started hooks of Steno; server: of MCP; steno: a hook; else tool.
    role: str = TOOL

    @property
    def is_our_hook(self) -> bool:
        """Whether it is a process of Steno's own hooks: those are no part of what the run did."""
        return self.role == STENO

    @property
    def program(self) -> str | None:
        return last.program if (last := self._last_program) else None

    @property
    def command(self) -> str | None:
        """The command line of the last program that it became, quoted for a shell."""
        return shlex.join(last.arguments) if (last := self._last_program) else None

    @property
    def has_failed(self) -> bool:
        return self.signal is not None or bool(self.exit_code)

    @property
    def has_ended(self) -> bool:
        """False where its end was not seen."""
        return self.signal is not None or self.exit_code is not None

    @property
    def shell_code(self) -> int | None:
        """As a shell tells it: 128 and the signal for one that a signal ended."""
        if self.signal is None:
            return self.exit_code
        return _FIRST_SIGNAL + _NUMBERS[self.signal] if self.signal in _NUMBERS else None

    @property
    def _last_program(self) -> Exec | None:
        return next((one for one in reversed(self.execs) if one.has_started), None)


class FileState(Row, frozen=True):
    """A path at one moment. `kind` is `absent` where nothing was there, and None where that is not known."""

    kind: str | None
    mode: Small | None = None
    size: int | None = None
    mtime_ns: int | None = None
    uid: Small | None = None
    gid: Small | None = None
    target: str | None = None
    target_bytes: bytes | None = None
    blob: str | None = None
    no_content_reason: str | None = None

    @property
    def exists(self) -> bool | None:
        """None where it is not known."""
        return None if self.kind is None else self.kind != ABSENT

    @property
    def has_content(self) -> bool:
        return self.kind in _WITH_CONTENT

    @property
    def content_size(self) -> int | None:
        """None when it is not known; what is not there, or is no content, has none."""
        if self.exists is None:
            return None
        if not self.has_content:
            return 0
        return None if self.size is None else max(self.size, 0)

    @property
    def link(self) -> bytes:
        """What a symbolic link leads to, byte for byte."""
        return self.target_bytes if self.target_bytes is not None else (self.target or "").encode()


class Git(msgspec.Struct, frozen=True, omit_defaults=True):
    """What git made of a path when the run began."""

    in_repo: bool
    root: str
    head: str | None
    relative_path: str
    tracked: bool
    dirty: bool
    ignored: bool
    root_b64: str | None = None
    relative_path_b64: str | None = None


class File(Row, frozen=True):
    """A path that the run touched, before and after."""

    COLUMNS = (
        *("path", "path_bytes", "letter", "change", "operations", "size_change", "before", "after"),
        *("changed_by_others", "git_root", "git_class"),
    )
    name: bytes
    operations: list[str]
    before: FileState
    after: FileState
    change: str  # of what is there: created, modified, deleted, metadata, none or unknown
    changed_by_others: bool = False
    git: Git | None = None

    @property
    def path(self) -> str:
        return text(self.name)

    @property
    def path_bytes(self) -> bytes | None:
        return beside(self.name)

    @property
    def letter(self) -> str:
        """As `steno files` shows it: A, M, D, m for metadata, o by somebody else, t, r for read, ? or -."""
        if self.changed_by_others:
            return _BY_OTHERS
        if self.change == "modified" and self.before.kind == self.after.kind == "directory":
            return "m"  # what it lists has changed, which is told of the files in it
        if self.is_changed:
            return _LETTERS.get(self.change, "?")
        if not self.before.exists and "write" in self.operations:
            return GONE_AGAIN
        return "r" if self.is_read else "-"

    @property
    def size_change(self) -> int | None:
        """None where it is not known."""
        was, is_now = self.before.content_size, self.after.content_size
        return None if was is None or is_now is None else is_now - was

    @property
    def git_root(self) -> str | None:
        return self.git.root if self.git else None

    @property
    def git_class(self) -> str | None:
        """What git makes of it: ignored, untracked, dirty or clean."""
        if self.git is None:
            return None
        if self.git.ignored:
            return "ignored"
        if not self.git.tracked:
            return "untracked"
        return "dirty" if self.git.dirty else "clean"

    @property
    def is_changed(self) -> bool:
        """By the run or by somebody else."""
        return self.change != "none"

    @property
    def is_read(self) -> bool:
        return bool(_READING & set(self.operations))

    @property
    def is_gone(self) -> bool:
        """Whether the run, or somebody while it went on, took something away here."""
        is_absent = self.after.kind == ABSENT
        return is_absent and (bool(self.before.exists) or "delete" in self.operations)

    @property
    def lacks_content(self) -> bool:
        """Whether it was written, and what is in it at the end is not in the record."""
        after = self.after
        is_file = after.kind == "file" and after.blob is None
        return "write" in self.operations and is_file and after.no_content_reason is not None


class Files(msgspec.Struct, frozen=True):
    """What is concluded of files, in the order of the paths."""

    files: list[File]
    directory_renames: list[DirectoryRename]
    repositories: list[Repository]


class DirectoryRename(Row, frozen=True):
    """A directory that got another name, with everything in it."""

    COLUMNS = ("old_path", "old_path_bytes", "new_path", "new_path_bytes", "exchanged")
    old: bytes
    new: bytes
    exchanged: bool = False  # with what had the other name

    @property
    def old_path(self) -> str:
        return text(self.old)

    @property
    def old_path_bytes(self) -> bytes | None:
        return beside(self.old)

    @property
    def new_path(self) -> str:
        return text(self.new)

    @property
    def new_path_bytes(self) -> bytes | None:
        return beside(self.new)


class ThingRenamed(NamedTuple):
    """A directory, or with its device and inode something else that is older than the run."""

    old: bytes
    new: bytes
    exchanged: bool
    node: Identity | None


class Connection(Row, frozen=True, kw_only=True):
    """An address, and all that was done with it."""

    COLUMNS = (
        *("connection", "family", "address", "name", "operations", "calls", "result", "outcome"),
        *("came_of_all", "all_failed", "errors", "sent", "processes", "times", "first_ns", "last_ns"),
    )
    connection: Small
    family: str
    address_bytes: bytes
    operation_counts: dict[str, int]
    result_counts: dict[str, int]
    calls: list[str]  # the operations, each with the errors that it ended with
    result: str | None  # what came of connecting; None where nobody tried
    outcome: str | None  # the same in words, with the errors of connecting
    came_of_all: str | None  # of all that was tried: connected, sent to, bound …
    all_failed: bool  # all that was tried is known to have failed
    errors: list[str]
    sent: bool
    processes: list[Small]
    first_ns: int
    last_ns: int

    @property
    def address(self) -> str:
        return text(self.address_bytes)

    @property
    def name(self) -> str:
        """As people write it: 1.2.3.4:80, [::1]:80, a path."""
        return name_of_address(self.address)

    @property
    def operations(self) -> list[str]:
        return sorted(self.operation_counts)

    @property
    def times(self) -> Small:
        return sum(self.operation_counts.values())

    @property
    def is_unix(self) -> bool:
        return self.family == "unix"


class Unaddressed(Row, frozen=True):
    """Sockets that were made, or calls on a descriptor whose address is not told."""

    operation: str
    sockets: str | None  # what kind of sockets were made, as `inet stream`
    times: Small


class FileNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    read: list[str]
    written: list[str]
    created: list[str]
    deleted: list[str]
    attempted: list[str]


class EndpointNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    connected: list[str]
    sent: list[str]
    bound: list[str]
    attempted: list[str]


class SocketNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    connected: list[str]
    bound: list[str]
    attempted: list[str]


class ProgramNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ran: list[str]
    attempted: list[str]


class Names(msgspec.Struct, frozen=True):
    """What was done to which names, sorted; `attempted` is what only ever failed."""

    files: FileNames
    endpoints: EndpointNames
    unix_sockets: SocketNames
    execs: ProgramNames


class Access(Row, frozen=True):
    """What one process did to one path in one way, however often."""

    COLUMNS = (
        *("process", "operation", "path", "path_bytes", "access", "creates", "truncates"),
        *("outcome", "error", "times", "first_ns", "last_ns"),
    )
    process: int
    operation: str
    name: bytes | None  # a path, or an address
    access: str | None  # read, write or read_write, where it was opened
    creates: bool
    truncates: bool
    outcome: Outcome
    error: str | None
    times: int
    first_ns: int
    last_ns: int

    @property
    def path(self) -> str:
        return text(self.name or b"")

    @property
    def path_bytes(self) -> bytes | None:
        return beside(self.name or b"")

    @property
    def category(self) -> str:
        return _CATEGORIES.get(self.operation, "other")

    @property
    def result(self) -> str:
        """`ok`, `unknown`, or the name of the error."""
        return result_of(self.outcome, self.error)

    @property
    def may_change(self) -> bool:
        """Whether it changed the path, or opened it to."""
        if self.operation in OPENING:
            return self.access != "read" or self.creates or self.truncates
        return self.operation in CHANGING_CALLS


class Repository(Row, frozen=True):
    """A git repository that touched paths lie in."""

    COLUMNS = ("root", "head", "dirty")
    root: str
    head: str | None
    dirty: bool | None
    root_b64: str | None = None


class Event(Row, frozen=True):
    """A call that the kernel saw."""

    event: int
    at_ns: int
    process: int | None  # None: it tells of the recording itself
    thread: int
    operation: str
    syscall: str | None
    requested: str | None
    path: str | None
    other: str | None
    outcome: Outcome
    error: str | None
    argument: int
    argument2: int
    notes: list[str]
    found: FileState | None
