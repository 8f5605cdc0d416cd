"""What an attempt leaves: its streams, its meta, its place in the register and in the indexes.

In: an attempt that is held, its recording, and what was found out about it. Out: the audit files, made from
the recording, and the meta that says how it ended; the register has it first, so that a crash in between
loses nothing. It serves an attempt that has just ended, and one whose recorder was killed. Never writes a
byte of a stream that the recording does not hold, so nothing in clear either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from steno.agents.audit_files import UnwrittenError, digest, encoded
from steno.agents.index_file import write_indexes
from steno.agents.run_directory import PreparedRun
from steno.agents.split_streams import SplitStreams
from steno.agents.streams.session import session_of
from steno.contracts.agent_audit.meta import Ended, Known, Meta, SessionFound, describe
from steno.contracts.agent_audit.streams import file_name, stream_files
from steno.errors import StenoError
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
        with noting(notes):
            prepared.audit.write(part, partial(_blocks, recorded, split, part, prepared.attempt))


def session_told(recorded: Record, split: SplitStreams, parser: str, field: str | None) -> SessionFound:
    """From the same bytes that the audit files have, as many as there are."""
    logs = split.logs(recorded.layers)
    with readable(recorded.run):
        found = session_of(parser, logs.get("stdout", ()), logs.get("stderr", ()), field=field)
    return SessionFound(found.field, found.value, found.source)


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
def noting(notes: list[str]) -> Iterator[None]:
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
