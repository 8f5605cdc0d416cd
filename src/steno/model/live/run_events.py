"""The events of a run as happenings; what tells of the record and not of the run is none, but a gap is."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from steno.evidence import kinds
from steno.evidence.kinds import Event, EventData
from steno.judge.activity import RUN, Happening, shortened

_Words = Callable[[Any], str | None]


def of_event(event: Event) -> Happening | None:
    words = _WORDS.get(type(event.data))
    subject = words(event.data) if words is not None else None
    if subject is None:
        return None
    word = _VERBS.get(event.type, event.type.replace("_", " "))
    facts = {"type": event.type}
    return Happening(event.mono_ns, RUN, word, shortened(subject), bad=_is_bad(event.data), facts=facts)


def _is_bad(data: EventData) -> bool:
    match data:
        case kinds.Gap() | kinds.CommandNotStarted() | kinds.TerminalHeld():
            return True
        case kinds.CommandFinished():
            return data.exit_code != 0
        case kinds.RunFinish():
            return not data.completed
        case _:
            return False


def _ended(code: int | None, signal: str | None = None) -> str:
    if signal is not None:
        return f"by {signal}"
    return "how is not known" if code is None else f"with {code}"


def _step(data: kinds.AgentStep) -> str:
    return f"{data.number} {data.name}" + (f": {data.detail}" if data.detail else "")


def _gap(data: kinds.Gap) -> str:
    lost = f" ({data.lost_bytes} bytes lost)" if data.lost_bytes else ""
    return f"{data.reason}: {data.detail}{lost}"


def _probe(data: kinds.ProbeState) -> str | None:
    if data.state == "ready":
        return None
    return f"{data.state}: {data.detail}" if data.detail else data.state


def _changed(data: kinds.RepoSnapshotAfter) -> str | None:
    return None if data.changed is None else f"{data.changed} changed"


_VERBS = {
    kinds.RunStart.type: "run started",
    kinds.RunFinish.type: "recording ended",
    kinds.RepoSnapshotAfter.type: "files of the repository:",
}
_WORDS: dict[type[EventData], _Words] = {
    kinds.RunStart: lambda data: shlex.join(data.cmd_redacted),
    kinds.AgentStep: _step,
    kinds.ProbeState: _probe,
    kinds.CommandStarted: lambda data: f"pid {data.pid}",
    kinds.CommandNotStarted: lambda data: data.message,
    kinds.CommandStopped: lambda data: f"by {data.signal}",
    kinds.CommandContinued: lambda _: "",
    kinds.CommandFinished: lambda data: _ended(data.exit_code, data.signal),
    kinds.TerminalResized: lambda data: f"{data.cols}x{data.rows}",
    kinds.RecorderSignalled: lambda data: f"by {data.signal}",
    kinds.StreamClosed: lambda data: f"{data.stream}: {data.reason}",
    kinds.TerminalHeld: lambda data: data.stream,
    kinds.RepoSnapshotAfter: _changed,
    kinds.McpConnection: lambda data: f"{data.server}, {data.calls} calls",
    kinds.Gap: _gap,
    kinds.RunFinish: lambda data: data.reason or _ended(data.exit_code),
}
