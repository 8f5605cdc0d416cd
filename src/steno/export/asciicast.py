"""The terminal of a run as one asciicast v3 file, `steno-<run_id>.cast`: what asciinema and its player play.

It is made of the recorded streams, and secrets are masked in it as they are in them.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

from steno.evidence import layout
from steno.export import Exported
from steno.export.atomic import place_below
from steno.model.record import ERRORS, OUTPUT, readable
from steno.model.run import Run

NAME = "steno-{run_id}.cast"
_NOTHING = "the run wrote nothing to its output: there is nothing to play"


def export(run: Run, directory: Path) -> Exported:
    def write(out: IO[bytes]) -> None:
        with readable(run.folder):
            out.writelines(run.documents.read(layout.CAST))

    path = place_below(directory, NAME.format(run_id=run.run_id), write)
    return Exported(path, () if _has_output(run) else (_NOTHING,))


def _has_output(run: Run) -> bool:
    return any(moment.data for moment in run.moments() if moment.code in {OUTPUT, ERRORS})
