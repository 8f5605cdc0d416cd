"""Kernel tables made of fake frames, as layers in memory and as spools on the disk."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import msgspec
from pyarrow import parquet

from steno.bundle import kernel_table
from steno.bundle.folder import Folder
from steno.bundle.frames import open_frames
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import EventData
from steno.evidence.syscalls import ADDED
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.frames_made import FakeFrames
from support.spools import FINISH, START, MemoryLayers, numbered, open_spool

Line = dict[str, Any]
_NONE: Mapping[int, str] = MappingProxyType({})
OBSERVED = msgspec.convert(
    {
        **{field.name: 0 for field in msgspec.structs.fields(kinds.KernelObserved) if field.type is int},
        "observer": "notify",
        "features": [],
        "closed": True,
        "counted": {},
    },
    kinds.KernelObserved,
)


def write_table(
    made: FakeFrames, spool: Path, literals: Iterable[bytes] = (), blobs: Mapping[int, str] = _NONE
) -> kinds.KernelObserved:
    """Write frames and their table into a spool; returns what the event about them says."""
    made.write(spool)
    redactor = Redactor(findings=Findings(), literals=literals)
    with Folder(spool) as folder, open_frames(folder, made.key) as frames:
        return kernel_table.observed(frames, kernel_table.write(folder, frames, redactor, blobs))


def table_of(made: FakeFrames, literals: Iterable[bytes] = (), blobs: Mapping[int, str] = _NONE) -> bytes:
    with TemporaryDirectory() as spool:
        write_table(made, Path(spool), literals, blobs)
        return (Path(spool) / layout.KERNEL_TABLE).read_bytes()


def older_table(table: bytes) -> bytes:
    """A table as it was before rows told the contents that were kept."""
    older = io.BytesIO()
    parquet.write_table(parquet.read_table(io.BytesIO(table)).drop_columns([*ADDED]), older)
    return older.getvalue()


def kernel_layers(
    made: FakeFrames, lines: Sequence[Line] = (), *events: EventData, older: bool = False
) -> MemoryLayers:
    """The layers of a run whose calls these were; `lines` are those of `evidence/files.ndjson`.

    Every content that was kept has its number as its key. `older`: the lines tell what was before.
    """
    keys = {number: str(number) for number in range(1, len(made.blobs) + 1)}
    table = older_table(table_of(made)) if older else table_of(made, blobs=keys)
    files = {layout.KERNEL_TABLE: table, layout.FILE_LINES: lines_of(lines)}
    return MemoryLayers(numbered([START, *events, FINISH]), files)


def lines_of(lines: Sequence[Line]) -> bytes:
    return b"".join(map(canonical.encode_line, lines))


def observed_spool(
    run: Path, made: FakeFrames, lines: Sequence[Line] = (), *, told: bool = True, **changed: Any
) -> None:
    """A spool of a run that was observed; its recorder has let go. `changed` are fields of the event."""
    spool = open_spool(run)
    spool.event(START)
    event = write_table(made, run / layout.SPOOL)
    (run / layout.SPOOL / layout.FILE_LINES).write_bytes(lines_of(lines))
    spool.event(kinds.CommandFinished(exit_code=0))
    if told:
        spool.event(msgspec.structs.replace(event, **changed))
    spool.event(FINISH)
    spool.close()
