"""The terminal of a run as one asciicast v3 file, `steno-<run_id>.cast`: what asciinema and its player play.

It is made of the recorded streams, and secrets are masked in it as they are in them.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

from steno.bundle.folder import Folder
from steno.evidence import layout
from steno.judge.streams import output_moments
from steno.model.record import Record, open_record, readable
from steno.views.export import Exported
from steno.views.export.placing import place_below

NAME = "steno-{run_id}.cast"
_NOTHING = "the run wrote nothing to its output: there is nothing to play"


def export(folder: Folder, directory: Path) -> Exported:
    with open_record(folder) as record:

        def write(out: IO[bytes]) -> None:
            with readable(folder):
                out.writelines(record.files.read(layout.CAST))

        path = place_below(directory, NAME.format(run_id=record.run_id), write)
        return Exported(path, () if _has_output(record) else (_NOTHING,))


def _has_output(record: Record) -> bool:
    with readable(record.run):
        return any(moment.data for moment in output_moments(record.layers))
