"""The four outside formats of `steno.contracts`, put where the user wants them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steno.contracts import agent_snapshot as snapshots
from steno.contracts import capture_run as capture
from steno.contracts.agent_audit import attempt
from steno.contracts.assay import archive
from steno.errors import BadRequestError
from steno.evidence import layout
from steno.export import Exported
from steno.export.atomic import place_below, place_tree
from steno.model.record import readable
from steno.model.run import Run
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from steno.text.safe import listed, utf8
from steno.views import files as content_missing

_SHOWN = 5


def agent_audit(run: Run, directory: Path) -> Exported:
    place = place_tree(directory, run.run_id, attempt.files(run))
    return Exported(place, tuple(attempt.notes(run)))


def agent_snapshot(run: Run, directory: Path) -> Exported:
    if not directory.name:
        raise BadRequestError(f"{directory} cannot be a snapshot", hint="name a new directory with -o DIR")
    with snapshots.snapshot(run) as made:
        place_tree(directory.parent, directory.name, made.files())
    return Exported(directory, tuple(_of_snapshot(made)))


def assay_runner(run: Run, directory: Path) -> Exported:
    run.expect(layout.SURFACE, layout.HEALTH, layout.CORRELATION)
    name = archive.file_name(run)
    return Exported(place_below(directory, name, lambda out: archive.write(run, out)))


def capture_run(run: Run, directory: Path) -> Exported:
    place = capture.place(run)
    # The one text in these files that is not from the record, so it is the one to be masked here.
    where = Redactor(findings=Findings()).text(utf8(str(directory.absolute() / place)), "artifact_dir")
    with readable(run.folder):
        files = capture.files(run, where)
    return Exported(place_tree(directory, place, files))


def _of_snapshot(made: snapshots.Snapshot) -> Iterator[str]:
    if made.left_out:
        yield f"contents left out, because they hold secrets: {listed(sorted(made.left_out), _SHOWN)}"
    yield from content_missing.missing_lines(content_missing.content_missing(made.recorded))
