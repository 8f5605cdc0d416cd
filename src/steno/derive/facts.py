"""The facts of one run, gathered from its events in one pass.

In: layers. Out: `RunFacts`, which every other derivation asks. Never reads a stream.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

import msgspec

from steno.events import kinds
from steno.events.kinds import Event
from steno.events.layers import Layers


class RunFacts(msgspec.Struct, frozen=True):
    run_id: str
    start: kinds.RunStart
    started_at_ms: int
    finished_at_ms: int
    end_ns: int
    before: kinds.RepoSnapshotBefore | None
    after: kinds.RepoSnapshotAfter | None
    pid: int | None
    not_started: kinds.CommandNotStarted | None
    finished: kinds.CommandFinished | None
    kernel: kinds.KernelObserved | None
    finish: kinds.RunFinish | None
    tool_versions: dict[str, str]
    tally: dict[str, Any]
    gaps: tuple[kinds.Gap, ...]
    held: tuple[str, ...]
    stdin_unread: int

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

    def take(self, event: Event) -> None:
        self._first = self._first or event
        self._last = event
        self._latest[type(event.data)] = event.data
        match event.data:
            case kinds.Gap() as gap:
                self._gaps.append(gap)
            case kinds.TerminalHeld(stream=stream):
                self._held.append(stream)

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
            not_started=latest(kinds.CommandNotStarted),
            finished=latest(kinds.CommandFinished),
            kernel=latest(kinds.KernelObserved),
            finish=latest(kinds.RunFinish),
            tool_versions=versions.versions if versions else {},
            tally=tally.tally if tally else {},
            gaps=tuple(self._gaps),
            held=tuple(self._held),
            stdin_unread=unread.bytes if unread else 0,
        )
