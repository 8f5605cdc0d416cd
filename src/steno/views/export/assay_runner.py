"""The third seed's view: one archive, `assay-runner-spike-<run_id>.tar.gz`, to the letter of the seed.

In: a sealed bundle and the directory that the archive is to be in. Out: the archive, the same bytes every
time, written with flat memory. Surface and health are the bundle's own files, and so is correlation but for
a run of which the kernel alone tells; the kernel lines are made of the kernel table, one for each row, none
left out. A layer that was not recorded is an empty file and is said to be absent. What the archive has is
told in `docs/assay-runner.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from steno.bundle import assay_manifest, plain_tar
from steno.bundle.folder import Folder
from steno.evidence import claims, layout
from steno.judge import correlation
from steno.judge.assay_events import carried, run_events
from steno.judge.assay_lines import kernel_events, kernel_rows
from steno.judge.claim_layers import claims_of
from steno.model.record import Record, open_record, readable
from steno.views.export import Exported
from steno.views.export.placing import place_below

NAME = "assay-runner-spike-{run_id}.tar.gz"
_AS_THEY_ARE = {
    layout.SURFACE: assay_manifest.SURFACE,
    layout.HEALTH: assay_manifest.HEALTH,
}


def export(folder: Folder, directory: Path) -> Exported:
    with (
        open_record(folder) as record,
        TemporaryDirectory(prefix="steno-export-") as scratch,
        Folder(Path(scratch)) as made,
    ):
        with readable(folder):
            _make(record, made)

        def write(out: IO[bytes]) -> None:
            plain_tar.write(made, assay_manifest.FILES, out)

        target = place_below(directory, NAME.format(run_id=record.run_id), write)
    return Exported(target)


def _make(record: Record, made: Folder) -> None:
    for path, blocks in _files(record):
        plain_tar.keep(made, path, blocks)
    plain_tar.keep(made, layout.MANIFEST, [assay_manifest.build(record.run_id, made)])


def _files(record: Record) -> Iterator[tuple[str, Iterable[bytes]]]:
    root = record.manifest.root if record.manifest else ""
    yield assay_manifest.EVENTS, run_events(record.run_id, carried(root, record.layers.events()))
    yield assay_manifest.KERNEL_LINES, kernel_events(record.layers)
    yield assay_manifest.KERNEL_ROWS, kernel_rows(record.layers)
    report = b"".join(record.files.read(layout.CORRELATION))
    yield assay_manifest.CORRELATION, [correlation.in_archive(report, record.facts.start.shim)]
    told = claims_of(record.layers)
    yield assay_manifest.POLICY_LINES, map(claims.write, told.policy)
    yield assay_manifest.SDK_LINES, map(claims.write, told.sdk)
    for path, name in _AS_THEY_ARE.items():
        yield name, record.files.read(path)
