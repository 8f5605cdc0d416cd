"""`make bench`: what recording costs, against the bare command and the peers, in one run.

Rounds are interleaved, because the machine is shared and its speed drifts; each figure is a median with its
spread. Every row is printed when it is measured, with its budget where there is one, also when it is missed:
nothing here fails because it is slow. Tables go to stdout, progress to stderr, every sample to the file that
--json names. Workloads work in memory, because a disk has moods; the store of the runs is on the disk.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import agent_runs
import credentials
import floods
import hooks
import mcp_calls
import observer
import scale
from commands import Sizes, Workload, clean_environment, make_workloads
from recorders import OBSERVERS, find_observers, find_recorders, say_progress
from redactor import library_files, print_speeds
from results import Results

BUSY_LOAD = 0.5
MEMORY = Path("/dev/shm")


class Bench(NamedTuple):
    """What every section is given. `keep`: called with each row, for the file of the samples."""

    options: argparse.Namespace
    observers: list[str]
    place: Path
    env: dict[str, str]
    keep: Callable[[Mapping[str, Any]], None]


def main() -> None:
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)
    )  # scratch in memory is given back
    options = _options()
    machine = _machine(options)
    results = Results(machine, options.json)
    print(", ".join(f"{name} {value}" for name, value in machine.items()), flush=True)
    if os.getloadavg()[0] > BUSY_LOAD:
        print("The machine is busy with something else: these figures will say little.", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="steno-bench-") as own,
        tempfile.TemporaryDirectory(prefix="steno-bench-", dir=options.place) as work,
    ):
        env = clean_environment(Path(own))
        observers = find_observers(options.observers, env)
        _say_missing(observers.missing)
        for section in options.only:
            begin, place = time.monotonic(), Path(work) / section
            place.mkdir()
            MEASURED[section](Bench(options, observers.working, place, env, partial(results.add, section)))
            print(f"\n{section}: {(time.monotonic() - begin) / 60:.1f} minutes", flush=True)


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
    parser.add_argument(
        "--observers",
        type=_observers,
        default=list(OBSERVERS),
        metavar="NAME,…",
        help="some observers, of those that work here (notify,ebpf,both)",
    )
    parser.add_argument(
        "--size", type=float, default=1.0, metavar="FACTOR", help="make the commands longer or shorter (1)"
    )
    parser.add_argument("--place", type=Path, metavar="DIR", help=f"where the commands work ({MEMORY})")
    parser.add_argument("--megabytes", type=int, help="size of the terminal flood (200; quick: 20)")
    parser.add_argument("--lines", type=int, help="short lines through the terminal (100000; quick: 20000)")
    parser.add_argument(
        "--events", type=int, nargs="+", help="events of the large runs (1 and 10 million; quick: 100000)"
    )
    parser.add_argument("--calls", type=int, help="calls of a tool through a policy (1000; quick: 200)")
    parser.add_argument("--no-reprozip", action="store_true", help="do not install the peer (quick: neither)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample here, row by row")
    return _with_defaults(parser.parse_args())


def _with_defaults(options: argparse.Namespace) -> argparse.Namespace:
    quick = options.quick
    options.rounds = options.rounds or (1 if quick else 5)
    options.megabytes = options.megabytes or (20 if quick else 200)
    options.lines = options.lines or (20_000 if quick else 100_000)
    options.events = options.events or ([100_000] if quick else [1_000_000, 10_000_000])
    options.calls = options.calls or (200 if quick else 1000)
    options.place = options.place or Path(MEMORY if os.access(MEMORY, os.W_OK) else tempfile.gettempdir())
    return options


def _observers(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in OBSERVERS]:
        raise argparse.ArgumentTypeError(
            f"no observer: {', '.join(unknown)}; there are {', '.join(OBSERVERS)}"
        )
    return names


def _machine(options: argparse.Namespace) -> dict[str, str]:
    return {
        "Linux": platform.release(),
        "Python": platform.python_version(),
        "cores": str(len(os.sched_getaffinity(0))),
        "load": f"{os.getloadavg()[0]:.2f}",
        "user": "root" if os.geteuid() == 0 else "ordinary",
        "commands work in": str(options.place),
        "store in": tempfile.gettempdir(),
        "size": f"{options.size:g}",
    }


def _commands(bench: Bench) -> None:
    options, place, env = bench.options, bench.place, bench.env
    say_progress("making what the workloads work on")
    workloads = make_workloads(place, env, Sizes().times(options.size))
    recorders = find_recorders(
        bench.observers, place, env, reprozip=not (options.quick or options.no_reprozip)
    )
    chosen = [each for each in workloads.all if _is_wanted(each, options)]
    not_chosen = [f"not chosen: {each.name}" for each in workloads.all if each not in chosen]
    _say_missing([*workloads.missing, *recorders.missing, *not_chosen])
    rows = observer.compare(
        chosen, recorders.all, rounds=options.rounds, env=env, place=place, keep=bench.keep
    )
    observer.print_summary(rows, recorders.all)


def _terminal(bench: Bench) -> None:
    options = bench.options
    wanted = floods.make_floods(options.megabytes, options.lines)
    floods.drown(
        wanted, bench.observers, rounds=options.rounds, env=bench.env, place=bench.place, keep=bench.keep
    )


def _scale(bench: Bench) -> None:
    scale.scale(bench.options.events, bench.observers, env=bench.env, place=bench.place, keep=bench.keep)


def _redactor(bench: Bench) -> None:
    print("\nredactor (budget ≥ 50 MB/s on text and source)")
    for row in print_speeds(b"".join(path.read_bytes() for path in library_files())):
        bench.keep(row)
    credentials.print_table(bench.keep)


def _hooks(bench: Bench) -> None:
    hooks.compare(bench.options.rounds, env=bench.env, place=bench.place, keep=bench.keep)


def _mcp(bench: Bench) -> None:
    mcp_calls.measure(bench.options.calls, env=bench.env, place=bench.place, keep=bench.keep)


def _agents(bench: Bench) -> None:
    agent_runs.compare(
        bench.observers, bench.options.rounds, env=bench.env, place=bench.place, keep=bench.keep
    )


MEASURED: dict[str, Callable[[Bench], None]] = {
    "commands": _commands,
    "terminal": _terminal,
    "scale": _scale,
    "redactor": _redactor,
    "hooks": _hooks,
    "mcp": _mcp,
    "agents": _agents,
}


def _is_wanted(workload: Workload, options: argparse.Namespace) -> bool:
    if options.rows:
        return any(text in workload.name for text in options.rows)
    return workload.quick or not options.quick


def _say_missing(reasons: list[str]) -> None:
    for reason in reasons:
        print(reason, flush=True)


if __name__ == "__main__":
    main()
