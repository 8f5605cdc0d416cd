"""The rows of a run's tables. A field is a column of the same name in Python, Arrow, SQL and JSON.

`None` is: not known, or there is none. Fields that end in `_ns` are nanoseconds since the recording began,
but for the times of files, which are those of the file system. `process`, `call` and `exec` are keys of the
tables that have these names. A path whose bytes are not UTF-8 is shown with `\\xNN` for each such byte, and
stands beside that as it is, in `path_bytes`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

ABSENT = "absent"
STENO = "steno"  # the role of a process of our hooks
_READING = frozenset({"read", "execute"})
_WITH_CONTENT = frozenset({"file", "symlink"})
Outcome = Literal["done", "failed", "unknown"]
Json = Annotated[str, "JSON"]
Small = Annotated[int, "small"]  # exact in every language; of another whole number JSON may have text


class Row(msgspec.Struct, frozen=True):
    """One row of a table."""


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


class Process(Row, frozen=True):
    """A process that was seen, with the last program that it became."""

    process: Small
    parent: Small | None
    pid: Small | None
    program: str | None
    command: str | None  # the command line of the last program that it became, quoted for a shell
    started_ns: int
    ended_ns: int | None
    exit_code: Small | None
    signal: str | None
    core_dumped: bool
    end_known: str  # by whom its end is told: kernel, asked (it only asked for it) or unknown
    still_running: bool  # when the recording ended; of a run that goes on, now
    threads: Small
    n_events: Small
    label: str  # its program; a copy of a process is what that is
    title: str  # all that it was, its last command line in full
    alike: Small  # the same number where two, with all that they started, did the same
    # command: the first one; agent: it started hooks of Steno; server: of MCP; steno: a hook; else tool.
    role: str

    @property
    def is_our_hook(self) -> bool:
        """Whether it is a process of Steno's own hooks: those are no part of what the run did."""
        return self.role == STENO

    @property
    def has_failed(self) -> bool:
        return self.signal is not None or bool(self.exit_code)

    @property
    def has_ended(self) -> bool:
        """False where its end was not seen."""
        return self.signal is not None or self.exit_code is not None


class Exec(Row, frozen=True):
    """A program that a process became, or tried to become."""

    exec: Small
    process: Small
    at_ns: int
    requested: str | None
    executable: str | None
    arguments: list[str]
    n_arguments: int  # with those that are not kept
    arguments_cut: bool
    interpreter: str | None
    outcome: Outcome
    error: str | None
    privilege_lost: bool

    @property
    def has_started(self) -> bool:
        """That is, nothing says that it did not."""
        return self.outcome != "failed"

    @property
    def program(self) -> str:
        path = self.requested or self.executable or (self.arguments[0] if self.arguments else "?")
        return path.rpartition("/")[2] or path

    @property
    def result(self) -> str:
        """`ok`, `unknown`, or the name of the error."""
        return self.error or ("ok" if self.outcome == "done" else "unknown")


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
    def link(self) -> bytes:
        """What a symbolic link leads to, byte for byte."""
        return self.target_bytes if self.target_bytes is not None else (self.target or "").encode()


class File(Row, frozen=True):
    """A path that the run touched, before and after."""

    path: str
    path_bytes: bytes | None
    letter: str  # as `steno files` shows it
    change: str  # of what is there: created, modified, deleted, metadata, none or unknown
    operations: list[str]
    size_change: int | None  # None where it is not known
    before: FileState
    after: FileState
    changed_by_others: bool
    git_root: str | None
    git_class: str | None

    @property
    def name(self) -> bytes:
        """The path, byte for byte."""
        return self.path.encode() if self.path_bytes is None else self.path_bytes

    @property
    def is_changed(self) -> bool:
        """By the run or by somebody else."""
        return self.change != "none"

    @property
    def is_read(self) -> bool:
        return bool(_READING & set(self.operations))

    @property
    def lacks_content(self) -> bool:
        """Whether it was written, and what is in it at the end is not in the record."""
        after = self.after
        is_file = after.kind == "file" and after.blob is None
        return "write" in self.operations and is_file and after.no_content_reason is not None


class DirectoryRename(Row, frozen=True):
    """A directory that got another name, with everything in it."""

    old_path: str
    old_path_bytes: bytes | None
    new_path: str
    new_path_bytes: bytes | None
    exchanged: bool  # with what had the other name


class Connection(Row, frozen=True):
    """An address, and all that was done with it."""

    connection: Small
    family: str
    address: str
    name: str  # as people write it: 1.2.3.4:80, [::1]:80, a path
    operations: list[str]
    calls: list[str]  # the same, each with the errors that it ended with
    result: str | None  # what came of connecting; None where nobody tried
    outcome: str | None  # the same in words, with the errors of connecting
    came_of_all: str | None  # of all that was tried: connected, sent to, bound …
    all_failed: bool  # all that was tried is known to have failed
    errors: list[str]
    sent: bool
    processes: list[Small]
    times: Small
    first_ns: int
    last_ns: int

    @property
    def is_unix(self) -> bool:
        return self.family == "unix"


class Unaddressed(Row, frozen=True):
    """Sockets that were made, or calls on a descriptor whose address is not told."""

    operation: str
    sockets: str | None  # what kind of sockets were made, as `inet stream`
    times: Small


class Call(Row, frozen=True):
    """A tool call, as an agent told of it or a proxy let it through, and what the kernel saw of it."""

    call: Small
    tool_call_id: str
    tool: str
    server: str | None
    verdict: str
    told_by: str | None  # the agent or its framework; None where none said it
    corroboration: str | None
    corroborated_by: str | None
    decision: str | None
    reason: str | None
    dry_run: bool  # what policy decided was not enforced
    decision_outcome: str | None  # how the call ended, as its proxy told it
    started_ns: int | None
    ended_ns: int | None
    window_told_by: str | None
    window_ended_by: str | None
    process: Small | None
    n_events: Small | None  # None where nobody could see
    files_changed: list[str]
    files_read: list[str]
    programs: list[str]
    endpoints: list[str]
    input: Json | None  # as the agent said, else as policy saw it
    arguments: Json | None  # as policy saw them


class Claim(Row, frozen=True):
    """What an agent said at the end, of all that it did."""

    claim: Small
    source: str
    kind: str
    corroboration: str


class Check(Row, frozen=True):
    """What an agent said held against what was seen: of one call, or of its last words."""

    call: Small | None
    claim: Small | None
    rule: str
    result: str
    detail: str


class Effects(Row, frozen=True):
    """What the kernel saw in the window of one call, of one of several, or in that of none."""

    call: Small | None
    candidates: list[str]  # the ids of calls of which one did it
    server: str | None  # what this server did of what is in the window of no call
    n_events: Small
    files_created: list[str]
    files_written: list[str]  # but for those that were created
    files_deleted: list[str]
    files_changed: list[str]  # of these three, what is a file
    files_read: list[str]
    files_tried: list[str]
    endpoints: list[str]  # that it connected to or sent to, unless that is known to have failed
    sockets: list[str]
    programs: list[str]
    own_state: list[str]  # of the agent


class Decision(Row, frozen=True):
    """What policy decided about a call of a tool, as its proxy told it."""

    seq: int
    tool_call_id: str
    tool: str
    server: str
    decision: str
    reason: str
    dry_run: bool
    outcome: str | None  # how the call ended; None where no end was seen
    started_ns: int
    ended_ns: int | None
    arguments: Json | None


class Message(Row, frozen=True):
    """What an agent or its framework said of itself: a claim, never a fact."""

    seq: int
    source: str
    kind: str
    told_ns: int | None  # when it says that it was
    tool_call_id: str | None
    tool: str | None
    server: str | None
    text: str | None
    input: Json | None
    output: Json | None


class Access(Row, frozen=True):
    """What one process did to one path in one way, however often."""

    process: int
    operation: str
    path: str
    path_bytes: bytes | None
    access: str | None  # read, write or read_write, where it was opened
    creates: bool
    truncates: bool
    outcome: Outcome
    error: str | None
    times: int
    first_ns: int
    last_ns: int


class Blob(Row, frozen=True):
    """A content that the record keeps. `before` and `after` of a file name it."""

    blob: str
    size: int
    encrypted: bool  # it holds a secret, and only the store that it was recorded in can read it


class Gap(Row, frozen=True):
    """What is missing from the record, and why."""

    reason: str
    detail: str
    lost_bytes: int | None


class LogEntry(Row, frozen=True):
    """An event of the recording itself, as it was recorded."""

    seq: int
    at_ns: int
    logged_at_ms: int
    kind: str
    data: Json


class Output(Row, frozen=True):
    """Bytes of a stream of the terminal, or of a pipe, as they came."""

    stream: str
    position: int
    at_ns: int
    data: bytes


class Repository(Row, frozen=True):
    """A git repository that touched paths lie in."""

    root: str
    head: str | None
    dirty: bool | None


class Capability(Row, frozen=True):
    """A name in the capability surface: what the run could do and did."""

    category: str
    entry: str


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
