"""The terminal of a run as an asciicast of its own."""

from __future__ import annotations

import json
from pathlib import Path

from steno.evidence import layout
from steno.export import Exported
from steno.export.asciicast import export
from support.making import FINISHED, PTY, RUN_ID, make_run, start
from support.reading import opened
from support.recorded import Recorded


def exported(run: Path, directory: Path) -> Exported:
    with opened(run) as folder:
        return export(folder, directory)


def test_it_is_the_cast_of_the_recorded_streams(tmp_path: Path) -> None:
    tapes = [(layout.OUTPUT, 1_500_000_000, b"\x1b[1mhi\xff\r\n")]
    run = make_run(tmp_path / "store", start(terminal=PTY), *FINISHED, tapes=tapes)
    done = exported(run, tmp_path)
    assert done == Exported(tmp_path / f"steno-{RUN_ID}.cast")
    assert done.path.read_bytes() == Recorded(run).judged(layout.CAST)
    header, first, *_ = [json.loads(line) for line in done.path.read_bytes().splitlines()]
    assert (header["version"], header["term"]["cols"]) == (3, 80)
    assert first == [1.5, "o", "\x1b[1mhi\ufffd\r\n"]


def test_a_silent_run_has_a_cast_that_plays_nothing_and_says_so(tmp_path: Path) -> None:
    done = exported(make_run(tmp_path / "store"), tmp_path)
    assert done.notes == ("the run wrote nothing to its output: there is nothing to play",)
    assert done.path.exists()
