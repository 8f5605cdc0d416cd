"""The archive of the assay-runner contract, `assay-runner-spike-<run_id>.tar.gz`, made of a run.

Surface and health are as they follow from the record, and so is the correlation but for a run of which the
kernel alone tells. A layer that was not recorded is an empty file and is said to be absent. Memory is flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from steno.bundle.folder import Folder
from steno.bundle.pack import TAR_ERRORS, keep_file, manifest_in_tar, unpack_tar, write_tar
from steno.contracts.assay import manifest
from steno.contracts.assay.claim_lines import policy_line, sdk_line
from steno.contracts.assay.documents import in_their_words
from steno.contracts.assay.events import carried, run_events
from steno.contracts.assay.lines import COLUMNS, kernel_lines
from steno.evidence import layout
from steno.model.record import readable
from steno.model.run import Run

__all__ = ["CONCLUDED", "ERRORS", "Folder", "file_name", "manifest_of", "scratch_folder", "unpack", "write"]

ERRORS = TAR_ERRORS
CONCLUDED = {
    layout.SURFACE: manifest.SURFACE,
    layout.HEALTH: manifest.HEALTH,
    layout.CORRELATION: manifest.CORRELATION,
}


def file_name(run: Run) -> str:
    return f"assay-runner-spike-{run.run_id}.tar.gz"


def manifest_of(path: Path) -> bytes:
    return manifest_in_tar(path, manifest.MAX_BYTES)


def unpack(path: Path, folder: Folder) -> None:
    """Put its files into an empty folder. It may be anybody's: what is wrong with it is one of `ERRORS`."""

    def sizes(data: bytes) -> dict[str, int]:
        return {name: listed.bytes for name, listed in manifest.parse(data).files.items()}

    unpack_tar(path, folder, sizes, manifest.MAX_BYTES)


@contextmanager
def scratch_folder() -> Iterator[Folder]:
    with TemporaryDirectory(prefix="steno-archive-") as place, Folder(Path(place)) as folder:
        yield folder


def write(run: Run, out: IO[bytes]) -> None:
    with scratch_folder() as made:
        with readable(run.folder):
            for path, blocks in _files(run):
                keep_file(made, path, blocks)
            keep_file(made, layout.MANIFEST, [manifest.build(run.run_id, made)])
        write_tar(made, manifest.FILES, out)


def _files(run: Run) -> Iterator[tuple[str, Iterable[bytes]]]:
    yield manifest.EVENTS, run_events(run.run_id, carried(run.root or "", run.evidence.events()))
    batches = run.recorded_batches(COLUMNS) if run.has_kernel_layer else ()
    yield manifest.KERNEL_LINES, kernel_lines(run.run_id, batches)
    yield manifest.KERNEL_TABLE, run.evidence.read(layout.KERNEL_TABLE) if run.has_kernel_layer else []
    yield manifest.POLICY_LINES, map(policy_line, run.policy_lines())
    yield manifest.SDK_LINES, map(sdk_line, run.sdk_lines())
    for path, name in CONCLUDED.items():
        document = b"".join(run.documents.read(path))
        yield name, [in_their_words(name, document, run.facts.start.shim)]
