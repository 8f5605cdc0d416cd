"""Whether the tables of the kernel layer are those that the events tell of.

In: a run's folder that may be hostile, and its facts. Out: what is wrong, as sentences. A table that cannot
be read raises `BadTableError` or `BlobsError`, which are `ValueError`s; on any bytes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from steno.bundle.blobs import open_blobs
from steno.bundle.folder import Folder
from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge.facts import RunFacts
from steno.judge.files import FileLine, file_lines
from steno.judge.scan import held

_TABLES = (layout.KERNEL_TABLE, layout.FILE_LINES, layout.BLOBS)


def kernel_problems(run: Folder, layers: Layers, facts: RunFacts) -> Iterator[str]:
    if facts.kernel is None:
        yield from (f"{path}: no event tells of it" for path in _TABLES if layers.has(path))
        return
    if not layers.has(layout.KERNEL_TABLE) or not layers.has(layout.FILE_LINES):
        return  # said already: they should be there
    table = held(layers)
    if table.rows != facts.kernel.events:
        yield f"{layout.KERNEL_TABLE}: {table.rows} rows, the event tells of {facts.kernel.events}"
    told, kept = table.blobs.union(_blobs_told(layers)), set(_blobs_kept(run))
    if missing := told - kept:
        yield f"{layout.BLOBS}: has not all that rows and lines name, for one {min(missing)!r}"
    if unnamed := kept - told:
        yield f"{layout.BLOBS}: has more than rows and lines name, for one {min(unnamed)!r}"


def _blobs_told(layers: Layers) -> Iterator[str]:
    for line in file_lines(layers):
        if isinstance(line, FileLine):
            yield from (blob for blob in (line.before_blob, line.after_blob) if blob is not None)


def _blobs_kept(run: Folder) -> list[str]:
    if not run.has(layout.BLOBS):
        return []
    with open_blobs(run) as blobs:
        return blobs.keys()
