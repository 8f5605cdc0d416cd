"""What `meta.<N>.json` says of an attempt: schema version 3 of the contract, with one key of ours, `steno`.

The words of the command are the masked ones of the recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from steno.agents.stream import Session
from steno.contracts.agent_audit.streams import (
    AUDIT,
    PARTS,
    Chunks,
    TraceSource,
    chunks,
    file_name,
    trace_source,
)
from steno.evidence.kinds import AgentStep
from steno.model.recording import Recording, RunFacts


class _Wire(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """As it is written: the names of the contract, and none besides."""


class Reuse(_Wire, frozen=True):
    enabled: bool
    selector: str | None


class AttemptNumber(_Wire, frozen=True):
    number: int


class Launch(_Wire, frozen=True):
    command: str
    args: list[str]
    cwd: str


class SplitReconstruction(_Wire, frozen=True):
    stdout_chunks: int
    stderr_chunks: int


class Runtime(_Wire, frozen=True):
    mode: Literal["pty", "pipes"]
    trace_source: TraceSource
    split_reconstruction: SplitReconstruction


class AuditFiles(_Wire, frozen=True):
    """Relative to the run directory; what was not written is null."""

    meta: str
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    pty_output: str | None = None
    pty_timing: str | None = None
    fd_trace: str | None = None
    fs_before: str | None = None
    fs_after: str | None = None
    fs_diff: str | None = None


class Filesystem(_Wire, frozen=True):
    ignored_prefixes: list[str]
    diff_path: str | None
    unreadable: list[str]  # whose content could not be compared


class Protocol(_Wire, frozen=True):
    schema_version: Literal[1]
    completion: dict[str, Any] | None  # null: nobody judged


class Interactive(_Wire, frozen=True):
    handle: str | None
    session: Session
    translate_level: Literal[0, 1, 2, 3]


class TrustGiven(_Wire, frozen=True):
    """One entry in the settings of an agent: the run directory is trusted."""

    file: str
    key: list[str]
    already_there: bool  # then nothing was written


class PolicyGiven(_Wire, frozen=True):
    """The policy that the agent's MCP servers stood behind."""

    path: str  # absolute
    sha256: str  # of the file, as it was then


class Steno(_Wire, frozen=True):
    """The recording that the audit files are a view of; null without one."""

    run_id: str | None
    complete: bool
    gaps: list[str]
    trust: TrustGiven | None = None
    skills: list[str] = field(default_factory=list)
    home: str | None = None  # the choice, as `--home` has it
    policy: PolicyGiven | None = None  # null: none was asked for
    hooks: bool = False  # whether they were asked for
    steps: list[dict[str, Any]] = field(default_factory=list)  # the data of the events `agent_step`
    rules: dict[str, Any] | None = None  # by which its end is judged
    notes: list[str] = field(default_factory=list)  # how these files differ from those of the attempt


class Meta(_Wire, frozen=True):
    schema_version: Literal[3]
    run_id: str
    agent_name: str
    run_directory: str
    reuse: Reuse
    attempt: AttemptNumber
    launch: Launch
    started_at: str
    ended_at: str
    success: bool
    started: bool
    exit_code: int | None
    signal: str | None
    error: str | None
    trust_applied: bool
    runtime: Runtime
    audit_files: AuditFiles
    filesystem: Filesystem
    protocol: Protocol
    interactive: Interactive
    steno: Steno


class Ended(NamedTuple):
    """How it went. Without a recording there is nothing of the streams to be told."""

    launch: Launch
    started_at_ms: int
    ended_at_ms: int
    started: bool
    exit_code: int | None
    signal: str | None
    error: str | None
    mode: Literal["pty", "pipes"] = "pty"
    trace_source: TraceSource = "split"
    chunks: Chunks = Chunks(0, 0)
    steno_run_id: str | None = None
    complete: bool = False
    gaps: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        return self.started and self.exit_code == 0 and self.signal is None and self.error is None


class Known(_Wire, frozen=True, kw_only=True):
    """Who it was, and what was found out besides the recording itself."""

    run_id: str
    agent: str
    run_directory: str
    attempt: int
    parts: tuple[str, ...] = PARTS  # the audit files that were written
    selector: str | None = None
    trust: TrustGiven | None = None  # null: the agent asks for none
    skills: tuple[str, ...] = ()
    home: str | None = None
    policy: PolicyGiven | None = None
    hooks: bool = False
    steps: tuple[Mapping[str, Any], ...] = ()
    rules: Mapping[str, Any] | None = None
    unreadable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    completion: Mapping[str, Any] | None = None
    handle: str | None = None
    session: Session = Session()
    translate_level: Literal[0, 1, 2, 3] = 0


def ended(run: Recording, gaps: tuple[str, ...]) -> Ended:
    facts = run.facts
    command, *args = facts.start.cmd_redacted
    return Ended(
        launch=Launch(command, args, facts.start.cwd),
        started_at_ms=facts.started_at_ms,
        ended_at_ms=facts.finished_at_ms,
        started=facts.started,
        exit_code=facts.exit_code,
        signal=facts.signal,
        error=_error(facts),
        mode="pty" if facts.start.terminal.kind == "pty" else "pipes",
        trace_source=trace_source(facts),
        chunks=chunks(run),
        steno_run_id=facts.run_id,
        complete=facts.completed and not gaps,
        gaps=gaps,
    )


class AgentSteps(NamedTuple):
    """What a recording tells of the agent that was started in it; nothing when it was another command."""

    told: tuple[dict[str, Any], ...]
    facts: dict[str, Any]  # of all steps, under the names of meta


def agent_steps(run: Recording) -> AgentSteps:
    steps = [event.data for event in run.evidence.events() if isinstance(event.data, AgentStep)]
    told = tuple(to_builtins(replace(step, facts=None)) for step in steps)
    return AgentSteps(told, {name: fact for step in steps for name, fact in (step.facts or {}).items()})


def describe(known: Known, how: Ended) -> Meta:
    files = audit_files(known.attempt, known.parts)
    return Meta(
        schema_version=3,
        run_id=known.run_id,
        agent_name=known.agent,
        run_directory=known.run_directory,
        reuse=Reuse(enabled=known.selector is not None, selector=known.selector),
        attempt=AttemptNumber(known.attempt),
        launch=how.launch,
        started_at=_time(how.started_at_ms),
        ended_at=_time(how.ended_at_ms),
        success=how.success,
        started=how.started,
        exit_code=how.exit_code,
        signal=how.signal,
        error=how.error,
        trust_applied=known.trust is not None,
        runtime=Runtime(how.mode, how.trace_source, SplitReconstruction(*how.chunks)),
        audit_files=files,
        filesystem=Filesystem([AUDIT], files.fs_diff, list(known.unreadable)),
        protocol=Protocol(1, None if known.completion is None else dict(known.completion)),
        interactive=Interactive(known.handle, known.session, known.translate_level),
        steno=Steno(
            run_id=how.steno_run_id,
            complete=how.complete,
            gaps=list(how.gaps),
            trust=known.trust,
            skills=list(known.skills),
            home=known.home,
            policy=known.policy,
            hooks=known.hooks,
            steps=[dict(step) for step in known.steps],
            rules=None if known.rules is None else dict(known.rules),
            notes=list(known.notes),
        ),
    )


def audit_files(attempt: int, parts: tuple[str, ...]) -> AuditFiles:
    paths = {part.replace("-", "_"): f"{AUDIT}/{file_name(part, attempt)}" for part in ("meta", *parts)}
    return AuditFiles(**paths)


def _error(facts: RunFacts) -> str | None:
    if facts.not_started is not None:
        return facts.not_started.message
    if facts.finish is None or not facts.finish.completed:
        return (facts.finish.reason if facts.finish else None) or "its end was not seen"
    return None


def _time(ms: int) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
