"""Much output through a terminal: bare, script(1) and Steno, interleaved, pinned and unpinned.

In: a program that writes blocks of 4 KB, or short lines, and measures itself. Out: the whole time, and the
time of a write as the program itself sees it. A terminal that reads as fast as it can stands at the end.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import materials
from figures import print_table, ratio, spread, times, verdict
from recorders import STENO, clear_store, on_cores, say_progress
from terminal import on_terminal

BLOCK = 4096
MOST_OF_SCRIPT = 1.5
MOST_MICROSECONDS = 8.0
MOST_MEGABYTES = 150
SCRIPT, STENO_RUN = "script", "steno"
VARIANTS = ("bare", SCRIPT, STENO_RUN, "steno --split off", "steno --observer none")


class Flood(NamedTuple):
    name: str
    mode: str
    writes: int
    variants: tuple[str, ...]


class Sample(NamedTuple):
    whole: float
    per_write: float
    peak_kib: int
    failure: str | None


class FloodRow(NamedTuple):
    flood: Flood
    pinned: bool
    variant: str
    samples: list[Sample]

    def good(self) -> list[Sample]:
        return [each for each in self.samples if each.failure is None]

    def whole(self) -> list[float]:
        return [each.whole for each in self.good()]

    def per_write(self) -> list[float]:
        return [each.per_write for each in self.good()]

    @property
    def peak_megabytes(self) -> int:
        return max((each.peak_kib for each in self.good()), default=0) // 1024


def make_floods(megabytes: int, lines: int) -> list[Flood]:
    blocks = megabytes * 1_000_000 // BLOCK
    return [
        Flood(f"{megabytes} MB in 4 KB writes", "flood", blocks, VARIANTS[:3]),
        Flood(f"{lines} short lines, a write each", "lines", lines, VARIANTS),
    ]


def drown(floods: Sequence[Flood], *, rounds: int, env: Mapping[str, str], place: Path) -> list[FloodRow]:
    program = materials.compile_calls(place)
    rows = [
        FloodRow(flood, pinned, variant, [])
        for flood in floods
        for pinned in (True, False)
        for variant in flood.variants
    ]
    for number in range(rounds):
        for row in rows:
            with on_cores(pinned=row.pinned):
                row.samples.append(_take(row, program, env, place))
            say_progress(
                f"round {number + 1}/{rounds} {_core(row.pinned)} {row.flood.name}, {row.variant}:"
                f" {row.samples[-1].per_write * 1e6:.2f} µs per write {row.samples[-1].failure or ''}"
            )
    return rows


def _take(row: FloodRow, program: Path, env: Mapping[str, str], place: Path) -> Sample:
    typescript, result = place / "typescript", place / "flood.ns"
    store = Path(env["STENO_HOME"])
    clear_store(store)
    for path in (typescript, result):
        path.unlink(missing_ok=True)
    words = [str(program), row.flood.mode, str(row.flood.writes), str(place), str(result)]
    if row.variant == SCRIPT:
        words = ["script", "-qc", shlex.join(words), str(typescript)]
    elif row.variant.startswith(STENO_RUN):
        words = [str(STENO), "run", *row.variant.split()[1:], "--", *words]
    measured = on_terminal(words, cwd=place, env=env)
    clear_store(store)
    try:
        per_write = float(result.read_text()) / 1e9
    except (OSError, ValueError) as error:
        return Sample(measured.seconds, 0.0, measured.peak_kib, f"no result: {error}")
    failure = f"exit code {measured.exit_code}" if measured.exit_code else None
    return Sample(measured.seconds, per_write, measured.peak_kib, failure)


def print_floods(rows: Sequence[FloodRow], rounds: int) -> None:
    for flood in dict.fromkeys(row.flood for row in rows):
        for pinned in (True, False):
            those = [row for row in rows if row.flood == flood and row.pinned == pinned]
            script = next(row for row in those if row.variant == SCRIPT)
            print_table(
                f"{flood.name} through a terminal, {_core(pinned)}"
                f" ({rounds} rounds, interleaved: median least..most)",
                ["", "whole, s", "x script", "per write, µs", "x script", "peak", "budget"],
                [_line(row, script) for row in those],
            )


def _line(row: FloodRow, script: FloodRow) -> list[str]:
    whole, each = spread(row.whole()), spread(row.per_write())
    if whole is None or each is None:
        return [row.variant, "FAILED", "", "", "", "", ""]
    of_script = ratio(row.whole(), script.whole())
    budget = ""
    if row.variant == STENO_RUN and row.flood.mode == "flood":
        memory = verdict(row.peak_megabytes, MOST_MEGABYTES, " MB")
        budget = f"{verdict(of_script, MOST_OF_SCRIPT, 'x script')}, {memory}"
    elif row.variant == STENO_RUN:
        budget = verdict(each.median * 1e6, MOST_MICROSECONDS, " µs a line")
    line = [row.variant, whole.text(), times(of_script), each.text(1e6, 2)]
    return [*line, times(ratio(row.per_write(), script.per_write())), f"{row.peak_megabytes} MB", budget]


def _core(pinned: bool) -> str:
    return "one core" if pinned else "all cores"


def as_json(rows: Sequence[FloodRow]) -> list[dict[str, Any]]:
    return [
        {
            "flood": row.flood.name,
            "pinned": row.pinned,
            "variant": row.variant,
            "samples": [each._asdict() for each in row.samples],
        }
        for row in rows
    ]
