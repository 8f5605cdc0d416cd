"""The archive of the assay-runner contract, `assay-runner-spike-<run_id>.tar.gz`, made of a run.

Surface and health are as they follow from the record, and so is the correlation but for a run of which the
kernel alone tells. A layer that was not recorded is an empty file and is said to be absent. Memory is flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from steno.bundle import plain_tar
from steno.bundle.folder import Folder
from steno.contracts.assay import manifest
from steno.contracts.assay.events import carried, run_events
from steno.contracts.assay.lines import kernel_lines
from steno.evidence import canonical, claims, layout
from steno.judge.facts import ANY_SHIM, NO_SHIM
from steno.model.record import Record, readable

_AS_THEY_ARE = {
    layout.SURFACE: manifest.SURFACE,
    layout.HEALTH: manifest.HEALTH,
}
_KERNEL_ALONE = ["policy_layer_absent", "sdk_layer_absent"]


def file_name(run: Record) -> str:
    return f"assay-runner-spike-{run.run_id}.tar.gz"


def write(run: Record, out: IO[bytes]) -> None:
    with TemporaryDirectory(prefix="steno-export-") as scratch, Folder(Path(scratch)) as made:
        with readable(run.run):
            for path, blocks in _files(run):
                plain_tar.keep(made, path, blocks)
            plain_tar.keep(made, layout.MANIFEST, [manifest.build(run.run_id, made)])
        plain_tar.write(made, manifest.FILES, out)


def correlation(report: bytes, shim: str) -> bytes:
    """The report as an archive has it.

    Its readers take a run of which the kernel alone was to tell for clean: no join was expected, and its
    health says which layers are absent.
    """
    found = canonical.decode(report)
    if shim not in {ANY_SHIM, NO_SHIM} or found["bindings"] or found["ambiguities"] != _KERNEL_ALONE:
        return report
    return canonical.encode({**found, "status": "clean", "ambiguities": []})


def _files(run: Record) -> Iterator[tuple[str, Iterable[bytes]]]:
    root = run.manifest.root if run.manifest else ""
    yield manifest.EVENTS, run_events(run.run_id, carried(root, run.layers.events()))
    yield manifest.KERNEL_LINES, kernel_lines(run.layers)
    has_table = run.layers.has(layout.KERNEL_TABLE)
    yield manifest.KERNEL_TABLE, run.layers.read(layout.KERNEL_TABLE) if has_table else []
    report = b"".join(run.files.read(layout.CORRELATION))
    yield manifest.CORRELATION, [correlation(report, run.facts.start.shim)]
    yield manifest.POLICY_LINES, map(claims.write, run.claims.policy)
    yield manifest.SDK_LINES, map(claims.write, run.claims.sdk)
    for path, name in _AS_THEY_ARE.items():
        yield name, run.files.read(path)
