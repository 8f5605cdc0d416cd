"""The two indexes of the managed root: every attempt, and the sessions that can be continued.

In: the root. Out: `runs/index.json` with one entry for each attempt that has ended, and
`metadata/interactive-handles.json` with the last session of each run. Both are made from the register and
from nothing else, under a lock that whoever writes them waits for, and replaced in one step: whatever became
of them, they are right again after the next attempt. Never changes the register.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from steno.agents.audit_files import encoded
from steno.agents.locked_file import locked
from steno.agents.register import METADATA, attempts, registered_runs
from steno.agents.run_directory import RUNS
from steno.bundle.folder import Folder
from steno.contracts.agent_audit.meta import Meta, SessionFound
from steno.errors import StoreError
from steno.export.atomic import place_in

INDEX = f"{RUNS}/index.json"
HANDLES = f"{METADATA}/interactive-handles.json"
_LOCK = "indexes.lock"


class IndexEntry(Struct, frozen=True, rename="camel"):
    run_id: str
    agent_name: str
    attempt: int
    meta_path: str  # below the root
    started_at: str
    ended_at: str
    success: bool
    exit_code: int | None
    signal: str | None
    state: str | None  # of the completion, and so the next
    reason_code: str | None
    steno_run_id: str | None


class HandleEntry(Struct, frozen=True, rename="camel"):
    handle: str
    run_id: str
    agent_name: str
    attempt: int  # the last one that told of a session
    session: SessionFound


class _Index(Struct, frozen=True, rename="camel"):
    attempts: Sequence[IndexEntry]
    schema_version: Literal[1] = 1


class _Handles(Struct, frozen=True, rename="camel"):
    handles: Sequence[HandleEntry]
    schema_version: Literal[1] = 1


def write_indexes(root: Path) -> None:
    try:
        with (
            Folder(Path(os.path.realpath(root))) as base,
            base.sub(METADATA) as metadata,
            locked(metadata, _LOCK),
        ):
            ended = list(_ended(root))
            _write(base, INDEX, _Index([_entry_of(meta) for meta in ended]))
            # A later attempt takes the place of an earlier one.
            handles = {entry.run_id: entry for meta in ended if (entry := _handle_of(meta))}
            _write(base, HANDLES, _Handles(list(handles.values())))
    except OSError as error:
        raise StoreError(
            f"the indexes in {root} cannot be written: {error.strerror}",
            hint="the attempt itself is kept; make room, or check its permissions",
        ) from error


def _ended(root: Path) -> Iterator[Meta]:
    """Of every run in order of its attempts. What cannot be read is not indexed."""
    for run_id in registered_runs(root):
        with suppress(OSError):
            yield from (record.meta for record in attempts(root, run_id) if record.meta is not None)


def _entry_of(meta: Meta) -> IndexEntry:
    completion = meta.protocol.completion or {}
    return IndexEntry(
        run_id=meta.run_id,
        agent_name=meta.agent_name,
        attempt=meta.attempt.number,
        meta_path=f"{RUNS}/{meta.run_id}/{meta.audit_files.meta}",
        started_at=meta.started_at,
        ended_at=meta.ended_at,
        success=meta.success,
        exit_code=meta.exit_code,
        signal=meta.signal,
        state=completion.get("state"),
        reason_code=completion.get("reasonCode"),
        steno_run_id=meta.steno.run_id,
    )


def _handle_of(meta: Meta) -> HandleEntry | None:
    found = meta.interactive
    if found.handle is None or found.session.value is None:
        return None
    return HandleEntry(found.handle, meta.run_id, meta.agent_name, meta.attempt.number, found.session)


def _write(base: Folder, path: str, value: Struct) -> None:
    folder, _, name = path.partition("/")
    with base.sub(folder) as place:
        place_in(place, name, [encoded(value)], replace=True)
