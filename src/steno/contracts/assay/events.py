"""The two events of a run in the words of assay-runner: when it began, and how it ended.

Under `steno` the second one carries the events of the record, as far as surface, health and correlation are
made of them: whoever has the archive alone can make those again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from steno.evidence import canonical, kinds
from steno.evidence.kinds import Event
from steno.model.recording import RunFacts

SCHEMA = "assay.runner.event.v0"
_NS_A_MS = 1_000_000
_FIRST_SIGNAL = 128
_COUNT = 2
# Of terminal, repository and redaction the archive has nothing else either.
_LEFT_OUT = frozenset(
    kind.type
    for kind in (
        kinds.CommandStopped,
        kinds.CommandContinued,
        kinds.TerminalResized,
        kinds.RecorderSignalled,
        kinds.StreamClosed,
        kinds.StdinUnread,
        kinds.RepoSnapshotBefore,
        kinds.RepoSnapshotAfter,
        kinds.ToolVersions,
        kinds.RedactionTally,
    )
)


class BadRunEventsError(ValueError):
    """The lines are not those that we write."""


class Carried(NamedTuple):
    bundle_root: str
    events: list[Event]


class _Steno(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bundle_root: str
    events: list[dict[str, Any]]


class _Finished(msgspec.Struct, frozen=True):
    """What is read of the second line; the rest of it is made again."""

    steno: _Steno


def carried(bundle_root: str, events: Iterable[Event]) -> Carried:
    return Carried(bundle_root, [event for event in events if event.type not in _LEFT_OUT])


def run_events(run_id: str, told: Carried) -> Iterator[bytes]:
    facts = RunFacts.from_events(run_id, told.events)
    head = {"schema": SCHEMA, "run_id": run_id}
    yield canonical.encode_line(
        {
            **head,
            "seq": 0,
            "type": "run_started",
            "agent_shim": facts.shim,
            "command": facts.start.cmd_redacted,
            "env_keys": sorted(facts.start.env),
            "window_elapsed_ms": 0,
        }
    )
    yield canonical.encode_line(
        {
            **head,
            "seq": 1,
            "type": "run_finished",
            **_ending(facts),
            "window_elapsed_ms": facts.end_ns // _NS_A_MS,
            "steno": {"bundle_root": told.bundle_root, "events": [kinds.to_json(one) for one in told.events]},
        }
    )


def parse(run_id: str, data: bytes) -> Carried:
    """What the lines carry, when they are what that gives."""
    lines = data.splitlines(keepends=True)
    if len(lines) != _COUNT:
        raise BadRunEventsError(f"{len(lines)} lines, not {_COUNT}")
    try:
        steno = msgspec.convert(canonical.decode_line(lines[1]), _Finished).steno
        told = Carried(
            steno.bundle_root, [kinds.parse_line(canonical.encode_line(one)) for one in steno.events]
        )
        _check(run_id, told.events)
        made = b"".join(run_events(run_id, told))
    except (canonical.NotCanonicalError, kinds.BadEventError, msgspec.ValidationError) as error:
        raise BadRunEventsError(str(error)) from None
    if made != data:
        raise BadRunEventsError("the lines are not what the events under `steno` give")
    return told


def _check(run_id: str, events: list[Event]) -> None:
    if not events or events[0].type != kinds.RunStart.type or events[-1].type != kinds.RunFinish.type:
        raise BadRunEventsError("the events do not lead from run_start to run_finish")
    if any(event.run_id != run_id for event in events):
        raise BadRunEventsError("an event belongs to another run")
    if any(event.type in _LEFT_OUT for event in events):
        raise BadRunEventsError("an event of a kind that has no place here")
    for one, following in pairwise(events):
        if following.seq <= one.seq or following.mono_ns < one.mono_ns:
            raise BadRunEventsError("the events are not in the order of time")


def _ending(facts: RunFacts) -> dict[str, Any]:
    """A command that a signal ended has no exit code, as for whoever waits for it."""
    code = facts.exit_code
    if facts.signal is not None and code is not None:
        return {"exit_code": None, "signal": code - _FIRST_SIGNAL, "success": False}
    return {"exit_code": code, "signal": None, "success": code == 0 and facts.completed}
