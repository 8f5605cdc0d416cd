"""The run events: one frozen type a kind, and the line that carries it in `events.ndjson`.

A newer Steno may write kinds and fields that this one does not know: such a field is passed over, such a kind
is an `UnknownKind`. A line that does not fit the kind it names is a `BadEventError`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from steno.evidence import canonical
from steno.evidence.claims import FileKey, NoticedByProxy, ProcessKey, ProxyLog

# Of `tail_bytes`: a tail is held in memory; a record that asks for more is not believed.
MAX_TAIL_BYTES = 16 << 20


# Which shim was asked for, where it is none by name.
ANY_SHIM, NO_SHIM = "auto", "none"


class BadEventError(ValueError):
    """A line of `events.ndjson` is not an event of a known kind."""


class EventData(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one kind of event says. `type` is the word in the line; it is not a field."""

    type: ClassVar[str]


class Terminal(msgspec.Struct, frozen=True):
    """What stood behind the command's descriptors 0, 1 and 2."""

    kind: str  # "pty" or "pipes"
    streams: str  # "separate"; "merged" when stdout and stderr share one way out; "split" by an observer
    stdin: str  # "pty", "relayed" (recorded), or "inherited" (passed on, not recorded), or "closed"
    term: str | None
    cols: int | None
    rows: int | None
    recorded: list[str] = []  # "stdin", "stdout", "stderr", "output"


class ProgramFile(msgspec.Struct, frozen=True):
    path: str
    identity: str  # device, inode and the time of its last change in ns, with colons between


class HookProgram(msgspec.Struct, frozen=True):
    """What Steno's own hooks are, so that their processes can be told from those of the run."""

    script: ProgramFile | None  # the installed `steno`
    python: ProgramFile | None  # that runs it
    reads: list[str] = []  # directories of the interpreter and its libraries


class RunStart(EventData, frozen=True):
    type: ClassVar[str] = "run_start"

    cwd: str
    cmd_redacted: list[str]
    git_enabled: bool
    host: Host
    terminal: Terminal
    tail_bytes: int
    raw_logs: bool
    steno_version: str
    env: dict[str, str | None]  # every name; a value only where the variable is known to be harmless
    observer: str = "none"
    unobserved: str | None = None  # why there is no observer although one was wanted
    shim: str = "none"
    name: str | None = None
    recorder_pid: int | None = None
    uid: int | None = None
    gid: int | None = None
    scratch: list[str] = []  # directories outside the run that a killed recorder leaves behind
    intake: str | None = None  # where programs of the run told us of themselves: "memory" or "disk"
    max_blob: int | None = None  # bytes; of a larger file no content is kept
    ignored: list[str] | None = None  # paths of which, and below which, no content is kept
    hook_program: HookProgram | None = None  # with an observer


class RepoSnapshot(EventData, frozen=True):
    """Base of the two snapshots. A skip carries `reason` and nothing else that was looked at."""

    reason: str | None = None
    detail: str | None = None
    root: str | None = None
    head: str | None = None
    branch: str | None = None
    status_summary: dict[str, int] | None = None
    diff_hash: str | None = None  # in format 1; now the patch itself is kept
    omitted: list[dict[str, Any]] = []
    notes: list[str] = []


class RepoSnapshotBefore(RepoSnapshot, frozen=True):
    type: ClassVar[str] = "repo_snapshot_before"


class RepoSnapshotAfter(RepoSnapshot, frozen=True):
    type: ClassVar[str] = "repo_snapshot_after"

    changed: int | None = None
    added_lines: int | None = None
    deleted_lines: int | None = None
    withheld: list[str] = []  # binary files whose content held a secret: named, content left out
    masked_in_patch: int = 0  # `git apply` refuses a file whose masked line it would have to find
    unpatched: list[str] = []  # files that changed and are too large for the patch


class CgroupScope(EventData, frozen=True):
    """The cgroup that was made for the run, or the word that says why there is none."""

    type: ClassVar[str] = "cgroup_scope"

    hierarchy: str | None = None  # "unified", or "hybrid" where the first version is mounted beside it
    path: str | None = None  # below the mount of cgroup v2
    cgroup_id: int | None = None
    reason: str | None = None
    detail: str | None = None


class CgroupEnded(EventData, frozen=True):
    """What the run's cgroup held when the recorder stopped waiting: at most the first hundred by name."""

    type: ClassVar[str] = "cgroup_ended"

    empty: bool
    removed: bool
    left: list[LeftProcess] = []
    left_count: int = 0


class ProbeState(EventData, frozen=True):
    """What became of the eBPF probe that was wanted: "ready", or the word that says why there is none."""

    type: ClassVar[str] = "probe_state"

    state: str
    detail: str | None = None


class AgentStep(EventData, frozen=True):
    """One step of starting an agent and of judging its end, in the order of the agent-audit contract."""

    type: ClassVar[str] = "agent_step"

    number: int
    name: str
    detail: str | None = None
    done_ms: int | None = None  # when, by the wall clock: the first steps are over before the record begins
    facts: dict[str, Any] | None = None  # what came of it, under the names of `meta.<N>.json`


class CommandStarted(EventData, frozen=True):
    type: ClassVar[str] = "command_started"

    pid: int
    at_ns: int | None = None  # on the run's clock; the event itself is written when the recorder hears of it


class CommandNotStarted(EventData, frozen=True):
    type: ClassVar[str] = "command_not_started"

    errno: int
    message: str


class CommandStopped(EventData, frozen=True):
    type: ClassVar[str] = "command_stopped"

    signal: str


class CommandContinued(EventData, frozen=True):
    type: ClassVar[str] = "command_continued"


class CommandFinished(EventData, frozen=True):
    type: ClassVar[str] = "command_finished"

    exit_code: int
    signal: str | None = None
    core_dumped: bool = False
    user_us: int | None = None
    system_us: int | None = None
    max_rss_kib: int | None = None
    at_ns: int | None = None  # likewise


class TerminalResized(EventData, frozen=True):
    type: ClassVar[str] = "terminal_resized"

    cols: int
    rows: int


class RecorderSignalled(EventData, frozen=True):
    """The recorder got a signal; `forwarded` says whether the command was given it by us."""

    type: ClassVar[str] = "recorder_signalled"

    signal: str
    forwarded: bool


READER_LEFT = frozenset({"Broken pipe", "Connection reset by peer"})


class StreamClosed(EventData, frozen=True):
    """One of our outputs took no more: its reader left, or it failed. The command meets its end, too."""

    type: ClassVar[str] = "stream_closed"

    stream: str
    reason: str


class TerminalHeld(EventData, frozen=True):
    """The command ended while another process still held its terminal or its output pipes."""

    type: ClassVar[str] = "terminal_held"

    stream: str


class StdinUnread(EventData, frozen=True):
    """Bytes that we took from our input and the command never read; put back where that can be exact."""

    type: ClassVar[str] = "stdin_unread"

    bytes: int
    given_back: bool


class ToolVersions(EventData, frozen=True):
    type: ClassVar[str] = "tool_versions"

    versions: dict[str, str]


class MaskedExample(msgspec.Struct, frozen=True):
    where: str
    rule: str
    length: int
    hmac: str


class Tally(msgspec.Struct, frozen=True):
    redacted_fields: list[str] = []
    counts: dict[str, int] = {}
    total: int = 0
    examples: list[MaskedExample] = []
    redacted_fields_left_off_at_most: int = 0


class RedactionTally(EventData, frozen=True):
    """What has been masked so far; the last one in a run counts."""

    type: ClassVar[str] = "redaction_tally"

    tally: Tally


class Gap(EventData, frozen=True):
    """Something that should be in the record and is not. Makes the bundle `incomplete`."""

    type: ClassVar[str] = "gap"

    reason: str
    detail: str
    lost_bytes: int | None = None


class KernelObserved(EventData, frozen=True):
    """What the observer of system calls saw: `events` rows are in the kernel table."""

    type: ClassVar[str] = "kernel_observed"

    observer: str
    events: int
    processes: int
    features: list[str]
    lost_events: int
    lost_blobs: int
    unreadable: int
    undecoded: int
    outlived: int
    unknown_parents: int
    unresolved: int
    elsewhere: int
    unlisted: int
    unmet_forks: int
    unseen_exits: int
    privilege_lost: int
    listeners_refused: int
    closed: bool
    counted: dict[str, int]
    split: Split | None = None
    ring_lost: int = 0
    probe_unread: int = 0
    probe_unplaced: int = 0
    only_notify: int = 0
    only_ebpf: int = 0
    escaped: int = 0
    store_refused: int = 0


class McpConnection(EventData, frozen=True, kw_only=True):
    """One client and one server with our proxy between them, as the proxy told it."""

    type: ClassVar[str] = "mcp_connection"

    connection: str
    source: str
    server: str
    policy: str
    dry_run: bool
    server_process: ProcessKey | None = None
    proxy_process: ProcessKey
    opened_ns: int
    closed_ns: int | None = None  # None: no end was told
    end: str | None = None  # "client_closed", "server_exited" or "proxy_failed"
    exit_code: int | None = None
    signal: str | None = None
    calls: int  # on which was decided
    noticed: list[NoticedByProxy] = []  # the first hundred
    noticed_count: int = 0


class IntakeLogs(EventData, frozen=True, kw_only=True):
    """The logs that programs of the run told us in: by these the kernel layer says who else touched them."""

    type: ClassVar[str] = "intake_logs"

    policy: list[ProxyLog] = []
    policy_left_off: int = 0  # more than can be named here
    hooks: FileKey | None = None
    hook_processes: list[ProcessKey] = []  # hooks of which no line is kept
    hook_processes_left_off: int = 0


class SdkIntake(EventData, frozen=True, kw_only=True):
    """What the run's programs said of themselves: so many lines of the SDK log and of hooks were taken."""

    type: ClassVar[str] = "sdk_intake"

    shim: str  # the one that was asked for; with "auto" the first that came, or "none"
    lines: int
    hooks: int
    refused: str | None = None  # a fixed word: why the log was not taken from `refused_line` on
    refused_line: int | None = None


class RunFinish(EventData, frozen=True):
    type: ClassVar[str] = "run_finish"

    exit_code: int | None
    completed: bool
    reason: str | None = None


KINDS: dict[str, type[EventData]] = {
    kind.type: kind
    for kind in (
        RunStart,
        RepoSnapshotBefore,
        CgroupScope,
        ProbeState,
        AgentStep,
        CommandStarted,
        CommandNotStarted,
        CommandStopped,
        CommandContinued,
        CommandFinished,
        CgroupEnded,
        TerminalResized,
        RecorderSignalled,
        StreamClosed,
        TerminalHeld,
        StdinUnread,
        RepoSnapshotAfter,
        KernelObserved,
        ToolVersions,
        McpConnection,
        IntakeLogs,
        SdkIntake,
        RedactionTally,
        Gap,
        RunFinish,
    )
}


class UnknownKind(EventData, frozen=True):
    """An event that only a newer Steno knows."""

    type: ClassVar[str] = "unknown"

    kind: str
    data: dict[str, Any]


class Event(msgspec.Struct, frozen=True):
    """One line: when (wall clock for people, monotonic nanoseconds since the start for joins) and what."""

    seq: int
    ts_ms: int
    mono_ns: int
    run_id: str
    data: EventData

    @property
    def type(self) -> str:
        return self.data.kind if isinstance(self.data, UnknownKind) else self.data.type


class EventLine(msgspec.Struct, frozen=True):
    seq: int
    ts_ms: int
    mono_ns: int | str  # a string in a run of more than 104 days
    run_id: str
    type: str
    data: dict[str, Any]


def to_json(event: Event) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "ts_ms": event.ts_ms,
        "mono_ns": event.mono_ns,
        "run_id": event.run_id,
        "type": event.type,
        "data": event.data.data if isinstance(event.data, UnknownKind) else msgspec.to_builtins(event.data),
    }


def parse_outer(line: bytes) -> EventLine:
    try:
        return msgspec.convert(canonical.decode_line(line), EventLine)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadEventError(str(error)) from None


def parse_line(line: bytes) -> Event:
    raw = parse_outer(line)
    try:
        kind = KINDS.get(raw.type)
        data = UnknownKind(raw.type, raw.data) if kind is None else msgspec.convert(raw.data, kind)
        mono_ns = canonical.integer(raw.mono_ns)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadEventError(str(error)) from None
    return Event(raw.seq, raw.ts_ms, mono_ns, raw.run_id, data)


class Host(msgspec.Struct, frozen=True):
    """Where the command ran."""

    os: str
    release: str
    machine: str
    platform: str
    name: str


class LeftProcess(msgspec.Struct, frozen=True):
    """One process of the run that was still there when the record ended."""

    pid: int
    name: str


class Split(msgspec.Struct, frozen=True):
    """How many bytes of the terminal were written by which descriptor; `unwatched` counts descriptors."""

    stdout: int
    stderr: int
    tty: int
    unattributed: int
    unwatched: int
