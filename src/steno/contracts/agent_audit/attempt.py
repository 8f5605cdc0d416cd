"""The audit files of an attempt, made of any recording, with the number 1.

The files before and after are those that the observer recorded below the working directory. What `steno
agent` told of the agent is in meta; of another command nobody judged how it ended. What strace split is not
in a recording: then meta and a note say how these files differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from steno.contracts.agent_audit.changes import RecordedChanges
from steno.contracts.agent_audit.meta import Known, PolicyGiven, TrustGiven, agent_steps, describe, ended
from steno.contracts.agent_audit.streams import AUDIT, PARTS, TraceSource, file_name, stream_files
from steno.evidence import canonical
from steno.model.record import readable
from steno.model.run import Run

ATTEMPT = 1
_FILES = ("fs-before", "fs-after", "fs-diff")
_STRACE = (
    "strace told stdout from stderr, and its split is not in the recording: here stdout is the whole "
    "terminal and stderr is empty, while completion was judged by the split; the .audit of the run "
    "directory has it"
)


class _Facts(msgspec.Struct, frozen=True, rename="camel"):
    agent_name: str | None = None
    policy: PolicyGiven | None = None
    hooks: bool = False
    trust: TrustGiven | None = None
    skills: list[str] = []
    completion: dict[str, Any] | None = None
    rules: dict[str, Any] | None = None
    trace_source: TraceSource | None = None


def files(run: Run) -> dict[str, Iterable[bytes]]:
    """By name, below the directory of the run."""
    with run.contents() as contents:
        changes = RecordedChanges(run, contents) if run.has_kernel_layer else None
    found = _stream_files(run)
    parts: tuple[str, ...] = PARTS
    if changes is None:
        parts = tuple(part for part in PARTS if part not in _FILES)
    else:
        for part, made in zip(_FILES, (changes.before, changes.after, changes.diff), strict=True):
            found[file_name(part, ATTEMPT)] = [_json(made)]
    unreadable = changes.diff.unreadable if changes else []
    found[file_name("meta", ATTEMPT)] = [_json(_meta(run, parts, unreadable))]
    return {f"{AUDIT}/{name}": blocks for name, blocks in found.items()}


def notes(run: Run) -> list[str]:
    """What the user should know of these files."""
    return [*_no_observer(run), *_differences(run)]


def _stream_files(run: Run) -> dict[str, Iterable[bytes]]:
    return {name: _recorded(run, blocks) for name, blocks in stream_files(run, ATTEMPT).items()}


def _meta(run: Run, parts: tuple[str, ...], unreadable: list[str]) -> Any:
    with readable(run.folder):
        how = ended(run, tuple(run.completeness["gaps"]))
        steps = agent_steps(run)
    known = Known(
        run_id=run.run_id,
        agent=Path(how.launch.command).name or how.launch.command,
        run_directory=how.launch.cwd,
        attempt=ATTEMPT,
        parts=parts,
        unreadable=tuple(unreadable),
        steps=steps.told,
        notes=tuple(_differences(run)),
    )
    return describe(_with_facts(known, steps.facts), how)


def _with_facts(known: Known, facts: Mapping[str, Any]) -> Known:
    told = _told(facts)
    return msgspec.structs.replace(
        known,
        agent=told.agent_name or known.agent,
        policy=told.policy,
        hooks=told.hooks,
        trust=told.trust,
        skills=tuple(told.skills),
        completion=told.completion,
        rules=told.rules,
    )


def _told(facts: Mapping[str, Any]) -> _Facts:
    """What is not as `steno agent` writes it comes from somebody else, and says nothing."""
    try:
        return msgspec.convert(facts, _Facts)
    except msgspec.ValidationError:
        return _Facts()


def _differences(run: Run) -> Iterator[str]:
    with readable(run.folder):
        told = _told(agent_steps(run).facts)
    if told.trace_source == "strace":
        yield _STRACE


def _no_observer(run: Run) -> Iterator[str]:
    if not run.has_kernel_layer:
        yield "there was no observer: fs-before, fs-after and fs-diff are left out"


def _recorded(run: Run, blocks: Iterable[bytes]) -> Iterator[bytes]:
    with readable(run.folder):
        yield from blocks


def _json(value: Any) -> bytes:
    return canonical.encode(msgspec.to_builtins(value))
