"""The facts of one run, gathered from its events in one pass."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

import msgspec

from steno.evidence import kinds
from steno.evidence.kinds import Event
from steno.evidence.layers import Layers


class RunFacts(msgspec.Struct, frozen=True):
    run_id: str
    start: kinds.RunStart
    started_at_ms: int
    finished_at_ms: int
    end_ns: int
    before: kinds.RepoSnapshotBefore | None
    after: kinds.RepoSnapshotAfter | None
    pid: int | None
    command_started_ns: int | None
    command_finished_ns: int | None
    not_started: kinds.CommandNotStarted | None
    finished: kinds.CommandFinished | None
    kernel: kinds.KernelObserved | None
    scope: kinds.CgroupScope | None
    scope_end: kinds.CgroupEnded | None
    probe: kinds.ProbeState | None
    connections: tuple[kinds.McpConnection, ...]
    intake_logs: kinds.IntakeLogs | None
    sdk_intake: kinds.SdkIntake | None
    finish: kinds.RunFinish | None
    tool_versions: dict[str, str]
    tally: kinds.Tally | None
    gaps: tuple[kinds.Gap, ...]
    held: tuple[str, ...]
    stdin_unread: int
    unknown_kinds: tuple[str, ...]  # of events that only a newer Steno knows

    @staticmethod
    def of(layers: Layers) -> RunFacts:
        return RunFacts.from_events(layers.run_id, layers.events())

    @staticmethod
    def from_events(run_id: str, events: Iterable[Event]) -> RunFacts:
        gathered = _Gatherer()
        for event in events:
            gathered.take(event)
        return gathered.facts(run_id)

    @property
    def started(self) -> bool:
        """Its start was told, or something it did was seen: a recorder may be killed in between."""
        seen = self.pid is not None or (self.kernel is not None and self.kernel.events > 0)
        return seen and self.not_started is None

    @property
    def command_ns(self) -> int | None:
        """How long the command took, without the recorder's own work; None: its start or end was not seen."""
        if self.command_started_ns is None or self.command_finished_ns is None:
            return None
        return max(self.command_finished_ns - self.command_started_ns, 0)

    @property
    def exit_code(self) -> int | None:
        return self.finish.exit_code if self.finish else None

    @property
    def signal(self) -> str | None:
        return self.finished.signal if self.finished else None

    @property
    def completed(self) -> bool:
        return self.finish is not None and self.finish.completed

    @property
    def complete(self) -> bool:
        """Nothing that should be in the record is missing."""
        return self.completed and not self.gaps

    @property
    def shim(self) -> str:
        """The shim that spoke, or was to speak; "none" when nobody was named and nobody came."""
        if self.sdk_intake is not None:
            return self.sdk_intake.shim
        return kinds.NO_SHIM if self.start.shim == kinds.ANY_SHIM else self.start.shim

    @property
    def command_line(self) -> str:
        return shlex.join(self.start.cmd_redacted)

    @property
    def term(self) -> str | None:
        return self.start.terminal.term

    @property
    def size(self) -> tuple[int, int] | None:
        terminal = self.start.terminal
        return (terminal.cols, terminal.rows) if terminal.cols and terminal.rows else None


class NoRunStartError(ValueError):
    """The events do not begin with `run_start`, so nothing is known of the run."""


class _Gatherer:
    def __init__(self) -> None:
        self._first: Event | None = None
        self._last: Event | None = None
        self._latest: dict[type[kinds.EventData], Any] = {}
        self._gaps: list[kinds.Gap] = []
        self._held: list[str] = []
        self._unknown: set[str] = set()
        self._connections: list[kinds.McpConnection] = []
        self._started_ns: int | None = None
        self._finished_ns: int | None = None

    def take(self, event: Event) -> None:
        self._first = self._first or event
        self._last = event
        self._latest[type(event.data)] = event.data
        match event.data:
            case kinds.CommandStarted(at_ns=at_ns):
                self._started_ns = event.mono_ns if at_ns is None else at_ns
            case kinds.CommandFinished(at_ns=at_ns):
                self._finished_ns = event.mono_ns if at_ns is None else at_ns
            case kinds.UnknownKind(kind=kind):
                self._unknown.add(kind)
            case kinds.Gap() as gap:
                self._gaps.append(gap)
            case kinds.TerminalHeld(stream=stream):
                self._held.append(stream)
            case kinds.McpConnection() as connection:
                self._connections.append(connection)

    def facts(self, run_id: str) -> RunFacts:
        if self._first is None or self._last is None or not isinstance(self._first.data, kinds.RunStart):
            raise NoRunStartError("the events do not begin with run_start")
        latest = self._latest.get
        started = latest(kinds.CommandStarted)
        versions = latest(kinds.ToolVersions)
        tally = latest(kinds.RedactionTally)
        unread = latest(kinds.StdinUnread)
        return RunFacts(
            run_id=run_id,
            start=self._first.data,
            started_at_ms=self._first.ts_ms,
            finished_at_ms=self._last.ts_ms,
            end_ns=self._last.mono_ns,
            before=latest(kinds.RepoSnapshotBefore),
            after=latest(kinds.RepoSnapshotAfter),
            pid=started.pid if started else None,
            command_started_ns=self._started_ns,
            command_finished_ns=self._finished_ns,
            not_started=latest(kinds.CommandNotStarted),
            finished=latest(kinds.CommandFinished),
            kernel=latest(kinds.KernelObserved),
            scope=latest(kinds.CgroupScope),
            scope_end=latest(kinds.CgroupEnded),
            probe=latest(kinds.ProbeState),
            connections=tuple(self._connections),
            intake_logs=latest(kinds.IntakeLogs),
            sdk_intake=latest(kinds.SdkIntake),
            finish=latest(kinds.RunFinish),
            tool_versions=versions.versions if versions else {},
            tally=tally.tally if tally else None,
            gaps=tuple(self._gaps),
            held=tuple(self._held),
            stdin_unread=unread.bytes if unread else 0,
            unknown_kinds=tuple(sorted(self._unknown)),
        )
