"""What an attempt leaves when it is over: the files of its streams, its meta, its places in the indexes.

They are made from the recording, so nothing stands in them in clear either. The register has the meta first:
a crash in between loses nothing. It serves an attempt that just ended, and one whose recorder was killed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from steno.agents.stream import Session, session_of
from steno.bundle.folder import Folder
from steno.contracts.agent_audit.meta import Ended, Known, Meta, describe
from steno.contracts.agent_audit.streams import file_name, stream_files
from steno.errors import StenoError, StoreError
from steno.export.atomic import place_in
from steno.launch.audit_files import UnwrittenError, digest, encoded
from steno.launch.file_lock import locked
from steno.launch.registry import METADATA, attempts, registered_runs
from steno.launch.run_dirs import RUNS, PreparedRun
from steno.launch.strace_chain import SplitStreams
from steno.model.record import Record, readable

STREAMS = ("stdin", "stdout", "stderr", "pty-output", "pty-timing", "fd-trace")


def write_streams(
    prepared: PreparedRun,
    recorded: Record,
    split: SplitStreams,
    notes: list[str],
    parts: Iterable[str] = STREAMS,
) -> None:
    """One that cannot be written does not cost the others."""
    for part in parts:
        with collect_errors(notes):
            prepared.audit.write(part, partial(_blocks, recorded, split, part, prepared.attempt))


def session_told(recorded: Record, split: SplitStreams, parser: str, field: str | None) -> Session:
    """From the same bytes that the audit files have, as many as there are."""
    logs = split.logs(recorded.layers)
    with readable(recorded.run):
        return session_of(parser, logs.get("stdout", ()), logs.get("stderr", ()), field=field)


def describe_attempt(prepared: PreparedRun, known: Known, how: Ended) -> Meta:
    return describe(msgspec.structs.replace(known, parts=prepared.audit.parts), how)


def keep_meta(root: Path, prepared: PreparedRun, meta: Meta) -> None:
    name = file_name("meta", prepared.attempt)
    prepared.keep(
        meta=meta,
        files={**prepared.audit.files, name: digest([encoded(meta)])},
        unwritten=prepared.audit.unwritten,
    )
    try:
        prepared.audit.write_json("meta", meta)
    finally:
        write_indexes(root)


@contextmanager
def collect_errors(notes: list[str]) -> Iterator[None]:
    """The agent has run: its exit code is what the caller is owed."""
    try:
        yield
    except UnwrittenError:
        """`AuditFiles.notes` tells of it, once for all files."""
    except StenoError as error:
        notes.append(f"{error}; {error.hint}")
    except (OSError, ValueError) as error:
        notes.append(str(error))


def _blocks(recorded: Record, split: SplitStreams, part: str, attempt: int) -> Iterable[bytes]:
    elsewhere = split.parts()
    if part in elsewhere:
        return elsewhere[part]
    return _readable(recorded, stream_files(recorded, attempt)[file_name(part, attempt)])


def _readable(recorded: Record, blocks: Iterable[bytes]) -> Iterator[bytes]:
    with readable(recorded.run):
        yield from blocks


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
    session: Session


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
