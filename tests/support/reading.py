"""Reading what a test has made of evidence, as the views do."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steno.bundle.folder import Folder
from steno.bundle.verify import Status
from steno.model.record import Record, open_record
from steno.model.run import Run
from support.recorded import Recorded
from support.run_builder import RunBuilder


def sealed(run: RunBuilder, store: Path) -> Path:
    """The run as a bundle that verifies, with its gaps if it has any."""
    path = run.seal(store)
    verdict = Recorded(path).verdict()
    assert verdict.status in {Status.VALID, Status.INCOMPLETE}, verdict.steps[-1]
    return path


def unpack(packed: Path, place: Path) -> Path:
    """The folder of a packed record of our own. Debian's Python 3.11.2 has no filters of archives yet."""
    with tarfile.open(packed) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(place)
    return place


@contextmanager
def record(path: Path) -> Iterator[Record]:
    with Folder(path) as folder, open_record(folder) as found:
        yield found


def opened(path: Path) -> Run:
    """To be closed, or used in a `with`; what is wrong with it is told when it is read."""
    return Run(Folder(path))
