"""`make bench`: what recording costs, against the bare command and the peers, in one run.

Rounds are interleaved, because the machine is shared and its speed drifts; each figure is a median with its
spread. Every row is printed, with its budget where there is one, also when it is missed: nothing here fails
because it is slow. Tables go to stdout, progress to stderr, every sample to the file that --json names.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import floods
import observer
import scale
from commands import Workload, clean_environment, make_workloads
from recorders import find_recorders, say_progress
from redactor import library_files, print_speeds

BUSY_LOAD = 0.5


def main() -> None:
    options = _options()
    results: dict[str, Any] = {"machine": _machine()}
    print(" ".join(f"{name} {value}" for name, value in results["machine"].items()))
    if os.getloadavg()[0] > BUSY_LOAD:
        print("The machine is busy with something else: these figures will say little.")
    with tempfile.TemporaryDirectory(prefix="steno-bench-") as scratch:
        place = Path(scratch)
        env = clean_environment(place)
        for section in options.only:
            (place / section).mkdir()
            results[section] = MEASURED[section](options, place / section, env)
            if options.json is not None:
                options.json.write_text(json.dumps(results, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="one round, fewer and smaller rows: to try it out"
    )
    parser.add_argument("--rounds", type=int, help="rounds of every row (5; quick: 1)")
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=list(MEASURED), help="some sections")
    parser.add_argument("--rows", nargs="+", metavar="TEXT", help="only the commands whose name holds a TEXT")
    parser.add_argument("--megabytes", type=int, help="size of the terminal flood (1000; quick: 20)")
    parser.add_argument("--lines", type=int, help="short lines through the terminal (500000; quick: 20000)")
    parser.add_argument(
        "--events", type=int, nargs="+", help="events of the large runs (1 and 10 million; quick: 100000)"
    )
    parser.add_argument("--no-reprozip", action="store_true", help="do not install the peer (quick: neither)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample here")
    options = parser.parse_args()
    quick = options.quick
    options.rounds = options.rounds or (1 if quick else 5)
    options.megabytes = options.megabytes or (20 if quick else 1000)
    options.lines = options.lines or (20_000 if quick else 500_000)
    options.events = options.events or ([100_000] if quick else [1_000_000, 10_000_000])
    return options


def _machine() -> dict[str, str]:
    return {
        "Linux": platform.release(),
        "Python": platform.python_version(),
        "cores": str(len(os.sched_getaffinity(0))),
        "load": f"{os.getloadavg()[0]:.2f}",
    }


def _commands(options: argparse.Namespace, place: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    say_progress("making what the workloads work on")
    workloads = make_workloads(place, env)
    recorders = find_recorders(place, env, reprozip=not (options.quick or options.no_reprozip))
    for reason in (*workloads.missing, *recorders.missing):
        print(reason)
    chosen = [each for each in workloads.all if _is_wanted(each, options)]
    rows = observer.compare(chosen, recorders.all, rounds=options.rounds, env=env, place=place)
    observer.print_rows(rows, recorders.all, options.rounds)
    return observer.as_json(rows)


def _terminal(options: argparse.Namespace, place: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    wanted = floods.make_floods(options.megabytes, options.lines)
    rows = floods.drown(wanted, rounds=options.rounds, env=env, place=place)
    floods.print_floods(rows, options.rounds)
    return floods.as_json(rows)


def _scale(options: argparse.Namespace, place: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    found = scale.scale(options.events, env=env, place=place)
    scale.print_scaled(found)
    return scale.as_json(found)


def _redactor(_: argparse.Namespace, __: Path, ___: dict[str, str]) -> None:
    print("\nredactor (budget ≥ 50 MB/s on text and source)")
    print_speeds(b"".join(path.read_bytes() for path in library_files()))


MEASURED: dict[str, Callable[[argparse.Namespace, Path, dict[str, str]], Any]] = {
    "commands": _commands,
    "terminal": _terminal,
    "scale": _scale,
    "redactor": _redactor,
}


def _is_wanted(workload: Workload, options: argparse.Namespace) -> bool:
    if options.rows:
        return any(text in workload.name for text in options.rows)
    return workload.quick or not options.quick


if __name__ == "__main__":
    main()
