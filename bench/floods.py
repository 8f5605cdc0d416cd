"""Much output through a terminal: bare, script(1) and Steno, interleaved, pinned and unpinned.

In: a program that writes blocks of 4 KB, or short lines, and measures itself. Out: the whole time, and the
time of a write as the program itself sees it. A terminal that reads as fast as it can stands at the end.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import materials
from figures import Table, ratio, spread, times, verdict
from recorders import BARE, STENO, clear_store, name_of_cores, on_cores, say_progress
from terminal import on_terminal

BLOCK = 4096
MOST_OF_SCRIPT = 1.5
MOST_MICROSECONDS = 8.0
MOST_MEGABYTES = 150
SCRIPT = "script"
COLUMNS = (
    ("", 30),
    ("", 9),
    ("", 18),
    ("rounds", 6),
    ("whole, s: median least..most", 28),
    ("x script", 8),
    ("per write, µs", 22),
    ("x script", 8),
    ("peak", 7),
    ("budget", 38),
)


class Flood(NamedTuple):
    name: str
    mode: str
    writes: int


class Sample(NamedTuple):
    whole: float
    per_write: float
    peak_kib: int
    failure: str | None


class Variant(NamedTuple):
    """`options`: of `steno run`, or None when it is another. `judged`: the budgets speak of it."""

    name: str
    options: tuple[str, ...] | None = None
    judged: bool = False


class FloodRow(NamedTuple):
    flood: Flood
    pinned: bool
    samples: dict[str, list[Sample]]

    def good(self, variant: str) -> list[Sample]:
        return [each for each in self.samples[variant] if each.failure is None]

    def whole(self, variant: str) -> list[float]:
        return [each.whole for each in self.good(variant)]

    def per_write(self, variant: str) -> list[float]:
        return [each.per_write for each in self.good(variant)]

    def peak_megabytes(self, variant: str) -> int:
        return max((each.peak_kib for each in self.good(variant)), default=0) // 1024


def make_floods(megabytes: int, lines: int) -> list[Flood]:
    return [
        Flood(f"{megabytes} MB in 4 KB writes", "flood", megabytes * 1_000_000 // BLOCK),
        Flood(f"{lines} short lines", "lines", lines),
    ]


def drown(
    floods: Sequence[Flood],
    observers: Sequence[str],
    *,
    rounds: int,
    env: Mapping[str, str],
    place: Path,
    keep: Callable[[Mapping[str, Any]], None],
) -> None:
    program, variants = materials.compile_calls(place), _variants(observers)
    table = Table(f"Through a terminal ({rounds} rounds, interleaved)", COLUMNS)
    for flood in floods:
        for pinned in (True, False):
            row = FloodRow(flood, pinned, {each.name: [] for each in variants})
            say_progress(f"{flood.name}, {name_of_cores(pinned=pinned)}")
            for _ in range(rounds):
                with on_cores(pinned=pinned):
                    for variant in variants:
                        row.samples[variant.name].append(_take(flood, variant, program, env, place))
            keep(_as_json(row))
            for variant in variants:
                table.add(_line(row, variant))


def _variants(observers: Sequence[str]) -> list[Variant]:
    with_each = [Variant(name, ("--observer", name), judged=True) for name in observers]
    without_split = [
        Variant(f"{name} --split off", ("--observer", name, "--split", "off")) for name in observers[:1]
    ]
    return [
        Variant(BARE),
        Variant(SCRIPT),
        *with_each,
        *without_split,
        Variant("no observer", ("--observer", "none")),
    ]


def _take(flood: Flood, variant: Variant, program: Path, env: Mapping[str, str], place: Path) -> Sample:
    typescript, result = place / "typescript", place / "flood.ns"
    store = Path(env["STENO_HOME"])
    clear_store(store)
    for path in (typescript, result):
        path.unlink(missing_ok=True)
    words = [str(program), flood.mode, str(flood.writes), str(place), str(result)]
    if variant.name == SCRIPT:
        words = ["script", "-qc", shlex.join(words), str(typescript)]
    elif variant.options is not None:
        words = [str(STENO), "run", *variant.options, "--", *words]
    measured = on_terminal(words, cwd=place, env=env)
    clear_store(store)
    try:
        per_write = float(result.read_text()) / 1e9
    except (OSError, ValueError) as error:
        return Sample(measured.seconds, 0.0, measured.peak_kib, f"no result: {error}")
    failure = f"exit code {measured.exit_code}" if measured.exit_code else None
    return Sample(measured.seconds, per_write, measured.peak_kib, failure)


def _line(row: FloodRow, variant: Variant) -> list[str]:
    name = variant.name
    line = [row.flood.name, name_of_cores(pinned=row.pinned), name, str(len(row.samples[name]))]
    whole, each = spread(row.whole(name)), spread(row.per_write(name))
    if whole is None or each is None:
        return [*line, "FAILED", "", "", "", "", row.samples[name][-1].failure or ""]
    of_script = ratio(row.whole(name), row.whole(SCRIPT))
    peak = row.peak_megabytes(name)
    budget = ""
    if variant.judged and row.flood.mode == "flood":
        memory = verdict(peak, MOST_MEGABYTES, " MB")
        budget = f"{verdict(of_script, MOST_OF_SCRIPT, 'x script')}, {memory}"
    elif variant.judged:
        budget = verdict(each.median * 1e6, MOST_MICROSECONDS, " µs a line")
    line += [whole.text(), times(of_script), each.text(1e6, 2)]
    return [*line, times(ratio(row.per_write(name), row.per_write(SCRIPT))), f"{peak} MB", budget]


def _as_json(row: FloodRow) -> dict[str, Any]:
    return {
        "flood": row.flood.name,
        "pinned": row.pinned,
        "samples": {name: [each._asdict() for each in taken] for name, taken in row.samples.items()},
    }
