"""Kernel tables made of fake frames, as layers in memory and as spools on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from frames_made import FakeFrames
from spools import FINISH, START, MemoryLayers, numbered, open_spool
from steno.bundle import kernel_table
from steno.bundle.folder import Folder
from steno.bundle.frames import open_frames
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import EventData
from steno.redact.engine import Redactor
from steno.redact.findings import Findings

Line = dict[str, Any]
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


def write_table(made: FakeFrames, spool: Path, literals: Iterable[bytes] = ()) -> kinds.KernelObserved:
    """Write frames and their table into a spool; returns what the event about them says."""
    made.write(spool)
    redactor = Redactor(findings=Findings(), literals=literals)
    with Folder(spool) as folder, open_frames(folder, made.key) as frames:
        return kernel_table.observed(frames, kernel_table.write(folder, frames, redactor))


def table_of(made: FakeFrames, literals: Iterable[bytes] = ()) -> bytes:
    with TemporaryDirectory() as spool:
        write_table(made, Path(spool), literals)
        return (Path(spool) / layout.KERNEL_TABLE).read_bytes()


def kernel_layers(made: FakeFrames, lines: Sequence[Line] = (), *events: EventData) -> MemoryLayers:
    """The layers of a run whose calls these were; `lines` are those of `evidence/files.ndjson`."""
    files = {layout.KERNEL_TABLE: table_of(made), layout.FILE_LINES: lines_of(lines)}
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
