"""Many events in one run: what memory recorder and helper take, how large the bundle is, how fast the seal.

In: how many events. Out: the resident memory of both, sampled while the command runs and while the record is
made, bytes of bundle per event, and events sealed per second. More events must not mean more memory.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import materials
from figures import print_table, verdict, verdict_at_least
from recorders import STENO, clear_store, read_run, say_progress

SAMPLE_SECONDS = 0.05
EARLY = 0.2  # of the command's time: memory by then, against memory at its end
MOST_MEGABYTES = 150
LEAST_SEALED = 500_000
MOST_BYTES = 12
HELPER = "steno-trace"
MEGABYTE = 1 << 20


class Memory(NamedTuple):
    """Bytes. `private` is what is not a mapped file."""

    resident: int
    private: int


class Sampled(NamedTuple):
    at: float
    recorder: Memory
    helper: Memory | None  # None: it is over, the record is being made


class Scaled(NamedTuple):
    events: int
    seconds: float
    seal_seconds: float
    bundle_bytes: int
    table_bytes: int
    recorder_early: Memory
    recorder_running: Memory
    recorder_sealing: Memory
    helper_early: Memory
    helper_running: Memory
    largest_files: dict[str, int]


def scale(sizes: Sequence[int], *, env: Mapping[str, str], place: Path) -> list[Scaled]:
    program, files = materials.compile_calls(place), materials.many_files(place)
    found = []
    for size in sizes:
        clear_store(Path(env["STENO_HOME"]))
        words = [str(STENO), "run", "--no-git", "--", str(program), "mix", str(size), str(files)]
        found.append(_one(words, env, place))
        say_progress(
            f"{found[-1].events} events: {found[-1].seconds:.1f} s, seal {found[-1].seal_seconds:.1f} s"
        )
        clear_store(Path(env["STENO_HOME"]))
    return found


def _one(words: Sequence[str], env: Mapping[str, str], place: Path) -> Scaled:
    samples = []
    with (place / "scale.log").open("wb") as log:
        process = subprocess.Popen(
            words, cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        while process.poll() is None:
            if (sample := _sample(process.pid)) is not None:
                samples.append(sample)
            time.sleep(SAMPLE_SECONDS)
        ended = time.time()
    if process.returncode != 0:
        told = (place / "scale.log").read_text(errors="replace")
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}: {told}")
    return _judge(samples, ended, Path(env["STENO_HOME"]))


def _sample(pid: int) -> Sampled | None:
    try:
        recorder = _memory(pid)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, LookupError, ValueError):  # it has just ended
        return None
    helper = None
    for child in children:
        with suppress(OSError, LookupError, ValueError):
            if Path(f"/proc/{child}/comm").read_text().strip() == HELPER:
                helper = _memory(int(child))
    return Sampled(time.monotonic(), recorder, helper)


def _memory(pid: int) -> Memory:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    resident, anonymous = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon"))
    return Memory(resident, anonymous)


def _judge(samples: Sequence[Sampled], ended: float, store: Path) -> Scaled:
    facts = read_run(store)
    if facts.events is None:
        raise SystemExit("the run was not observed: is steno-trace built?")
    running = [each for each in samples if each.helper is not None]
    if not running:
        raise SystemExit("the run was too short to sample its memory: take more events")
    sealing = [each for each in samples if each.at > running[-1].at]
    early = running[: max(1, int(len(running) * EARLY))]
    sizes = {
        str(path.relative_to(facts.folder)): path.stat().st_size
        for path in facts.folder.rglob("*")
        if path.is_file()
    }
    return Scaled(
        events=facts.events,
        seconds=facts.own,
        seal_seconds=ended - facts.finished_epoch,
        bundle_bytes=sum(sizes.values()),
        table_bytes=sizes.get("layers/kernel.parquet", 0),
        recorder_early=_peak([each.recorder for each in early]),
        recorder_running=_peak([each.recorder for each in running]),
        recorder_sealing=_peak([each.recorder for each in sealing]),
        helper_early=_peak([each.helper for each in early if each.helper]),
        helper_running=_peak([each.helper for each in running if each.helper]),
        largest_files=dict(sorted(sizes.items(), key=lambda item: -item[1])[:6]),
    )


def _peak(found: Sequence[Memory]) -> Memory:
    return Memory(
        max((each.resident for each in found), default=0), max((each.private for each in found), default=0)
    )


def print_scaled(found: Sequence[Scaled]) -> None:
    print_table(
        f"Many events in one run: memory resident (private), MB; early: the first {EARLY:.0%} of it",
        ["events", "command", "helper early", "helper", "recorder early", "recorder", "sealing", "budget"],
        [
            [
                f"{each.events:,}",
                f"{each.seconds:.1f} s",
                *(
                    f"{memory.resident / MEGABYTE:.1f} ({memory.private / MEGABYTE:.1f})"
                    for memory in (
                        each.helper_early,
                        each.helper_running,
                        each.recorder_early,
                        each.recorder_running,
                        each.recorder_sealing,
                    )
                ),
                verdict(_most_megabytes(each), MOST_MEGABYTES, " MB"),
            ]
            for each in found
        ],
    )
    print_table(
        "Many events in one run: the record",
        [
            "events",
            "seal",
            "events/s",
            "budget",
            "bundle, MB",
            "bytes/event",
            "of it kernel.parquet",
            "budget",
        ],
        [
            [
                f"{each.events:,}",
                f"{each.seal_seconds:.2f} s",
                f"{each.events / each.seal_seconds:,.0f}",
                verdict_at_least(each.events / each.seal_seconds, LEAST_SEALED, "/s"),
                f"{each.bundle_bytes / 1e6:.2f}",
                f"{each.bundle_bytes / each.events:.2f}",
                f"{each.table_bytes / each.events:.2f}",
                verdict(each.bundle_bytes / each.events, MOST_BYTES, " bytes"),
            ]
            for each in found
        ],
    )


def _most_megabytes(found: Scaled) -> float:
    resident = (found.recorder_running, found.recorder_sealing, found.helper_running)
    return max(each.resident for each in resident) / MEGABYTE


def as_json(found: Sequence[Scaled]) -> list[dict[str, Any]]:
    return [
        {
            name: value._asdict() if isinstance(value, Memory) else value
            for name, value in each._asdict().items()
        }
        for each in found
    ]
