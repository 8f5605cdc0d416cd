"""`make bench`: what recording costs, against the bare command and script(1), in one run.

Rounds are interleaved, because the machine is shared and its speed drifts; each row is a median with its
spread. Every row is printed, with its budget where there is one, also when it is missed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from redactor import library_files, print_speeds
from terminal import Measured, on_terminal

PROGRAM = Path(sys.executable).with_name("steno")
FLOOD = """
import os, sys
line = b"the quick brown fox jumps over the lazy dog, 0123456789, and runs on for a while\\n"
block = line * (4096 // len(line))
left = int(sys.argv[1])
while left > 0:
    left -= os.write(1, block[:left])
"""


class Row(NamedTuple):
    name: str
    seconds: list[float]
    peak_kib: int
    budget: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="steno-bench-") as scratch:
        place = _Place(Path(scratch))
        _print_table("start to end, in a small git repository", _start_to_end(place, options.rounds))
        _print_table(f"{options.megabytes} MB in 4 KB writes through a terminal", _flood(place, options))
    print("\nredactor (budget ≥ 50 MB/s on text and source)")
    print_speeds(b"".join(path.read_bytes() for path in library_files()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the short rows")
    parser.add_argument("--flood-rounds", type=int, default=2, help="rounds of the terminal flood")
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the terminal flood")
    return parser.parse_args()


class _Place:
    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.store = scratch / "runs"
        self.env = {**os.environ, "STENO_HOME": str(self.store), "HOME": str(scratch), "SHELL": "/bin/sh"}
        self.repo = scratch / "repo"
        self.repo.mkdir()
        for number in range(40):
            (self.repo / f"file{number}.txt").write_text(f"{number}\n" * 20)
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
            subprocess.run(["git", *words], cwd=self.repo, env=self.env, check=True)
        (scratch / "flood.py").write_text(FLOOD)

    def clear(self) -> None:
        subprocess.run(["rm", "-rf", self.store, self.scratch / "typescript"], check=True)

    def run(self, words: list[str]) -> Measured:
        measured = on_terminal(words, cwd=self.repo, env=self.env)
        if measured.exit_code != 0:
            raise SystemExit(f"{words} ended with {measured.exit_code}")
        return measured


def _start_to_end(place: _Place, rounds: int) -> list[Row]:
    typescript = str(place.scratch / "typescript")
    return _interleaved(
        {
            "bare true": lambda: place.run(["true"]),
            "script -qc true": lambda: place.run(["script", "-qc", "true", typescript]),
            "steno run -- true": lambda: place.run([str(PROGRAM), "run", "--", "true"]),
            "steno run --no-git -- true": lambda: place.run([str(PROGRAM), "run", "--no-git", "--", "true"]),
        },
        rounds,
        budgets={"steno run -- true": "≤ 0.35 s"},
    )


def _flood(place: _Place, options: argparse.Namespace) -> list[Row]:
    size = options.megabytes * 1_000_000
    flood = [sys.executable, str(place.scratch / "flood.py"), str(size)]
    typescript = str(place.scratch / "typescript")

    def cleared(words: list[str]) -> Callable[[], Measured]:
        def run() -> Measured:
            place.clear()
            return place.run(words)

        return run

    return _interleaved(
        {
            "bare": cleared(flood),
            "script -qc": cleared(["script", "-qc", " ".join(flood), typescript]),
            "steno run": cleared([str(PROGRAM), "run", "--no-git", "--", *flood]),
        },
        options.flood_rounds,
        budgets={"steno run": "≤ 1.5 x script, ≤ 150 MB"},
    )


def _interleaved(
    workloads: dict[str, Callable[[], Measured]], rounds: int, budgets: dict[str, str]
) -> list[Row]:
    measured: dict[str, list[Measured]] = {name: [] for name in workloads}
    for _ in range(rounds):
        for name, workload in workloads.items():
            measured[name].append(workload())
    return [
        Row(
            name,
            [each.seconds for each in found],
            max(each.peak_kib for each in found),
            budgets.get(name, ""),
        )
        for name, found in measured.items()
    ]


def _print_table(title: str, rows: list[Row]) -> None:
    script = next(row.median for row in rows if row.name.startswith("script"))
    print(f"\n{title} ({len(rows[0].seconds)} rounds, interleaved)")
    print(f"  {'':<28} {'median':>9} {'min':>9} {'max':>9} {'x script':>9} {'peak':>9}")
    for row in rows:
        print(
            f"  {row.name:<28} {row.median:8.3f}s {min(row.seconds):8.3f}s {max(row.seconds):8.3f}s"
            f" {row.median / script:9.2f} {row.peak_kib // 1024:6d} MB"
            + (f"   budget {row.budget}" if row.budget else "")
        )


if __name__ == "__main__":
    main()
