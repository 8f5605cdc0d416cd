"""Many events in one run: what memory recorder and helper take, how large the bundle is, how fast the seal.

In: how many events, and the observers. Out: the resident memory of both, sampled while the command runs and
while the record is made, bytes of bundle per event, and events sealed per second. More events must not mean
more memory.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import materials
from figures import NONE, print_table, verdict, verdict_at_least
from recorders import STENO, clear_store, read_run

SAMPLE_SECONDS = 0.05
EARLY = 0.2  # of the command's time: memory by then, against memory at its end
MOST_MEGABYTES = 150
LEAST_SEALED = 500_000
MOST_BYTES = 12
HELPER = "steno-trace"
MEGABYTE = 1 << 20


class NotMeasuredError(Exception):
    pass


class Memory(NamedTuple):
    """Bytes. `private` is what is not a mapped file."""

    resident: int
    private: int


class Sampled(NamedTuple):
    at: float
    recorder: Memory
    helper: Memory | None  # None: it is over, the record is being made


class Scaled(NamedTuple):
    observer: str
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
    flaws: tuple[str, ...]


def scale(
    sizes: Sequence[int],
    observers: Sequence[str],
    *,
    env: Mapping[str, str],
    place: Path,
    keep: Callable[[Mapping[str, Any]], None],
) -> None:
    program, files = materials.compile_calls(place), materials.many_files(place)
    for size in sizes:
        for observer in observers:
            clear_store(Path(env["STENO_HOME"]))
            words = [str(STENO), "run", "--no-git", "--observer", observer, "--"]
            try:
                found = _one([*words, str(program), "mix", str(size), str(files)], observer, env, place)
            except NotMeasuredError as error:
                print(f"\n{size:,} events with {observer} NOT MEASURED: {error}", flush=True)
                keep({"observer": observer, "wanted_events": size, "failure": str(error)})
            else:
                keep(_as_json(found))
                _print_scaled(found)
            clear_store(Path(env["STENO_HOME"]))


def _one(words: Sequence[str], observer: str, env: Mapping[str, str], place: Path) -> Scaled:
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
        raise NotMeasuredError(f"{' '.join(words)} ended with {process.returncode}: {told}")
    return _judge(samples, observer, ended, Path(env["STENO_HOME"]))


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


def _judge(samples: Sequence[Sampled], observer: str, ended: float, store: Path) -> Scaled:
    facts = read_run(store)
    if facts.events is None:
        raise NotMeasuredError("the run was not observed: is steno-trace built?")
    running = [each for each in samples if each.helper is not None]
    if not running:
        raise NotMeasuredError("the run was too short to sample its memory: take more events")
    sealing = [each for each in samples if each.at > running[-1].at]
    early = running[: max(1, int(len(running) * EARLY))]
    sizes = {
        str(path.relative_to(facts.folder)): path.stat().st_size
        for path in facts.folder.rglob("*")
        if path.is_file()
    }
    return Scaled(
        observer=observer,
        events=facts.events,
        seconds=facts.own,
        seal_seconds=ended - facts.finished_epoch,
        bundle_bytes=sum(sizes.values()),
        table_bytes=sizes.get("evidence/syscalls.parquet", 0),
        recorder_early=_peak([each.recorder for each in early]),
        recorder_running=_peak([each.recorder for each in running]),
        recorder_sealing=_peak([each.recorder for each in sealing]),
        helper_early=_peak([each.helper for each in early if each.helper]),
        helper_running=_peak([each.helper for each in running if each.helper]),
        largest_files=dict(sorted(sizes.items(), key=lambda item: -item[1])[:6]),
        flaws=facts.flaws,
    )


def _peak(found: Sequence[Memory]) -> Memory:
    return Memory(
        max((each.resident for each in found), default=0), max((each.private for each in found), default=0)
    )


def _print_scaled(found: Scaled) -> None:
    memories = (
        found.helper_early,
        found.helper_running,
        found.recorder_early,
        found.recorder_running,
        found.recorder_sealing,
    )
    each_megabytes = (f"{each.resident / MEGABYTE:.1f} ({each.private / MEGABYTE:.1f})" for each in memories)
    print_table(
        f"{found.events:,} events with {found.observer}: memory resident (private), MB;"
        f" early: the first {EARLY:.0%} of it",
        ["command", "helper early", "helper", "recorder early", "recorder", "sealing", "budget"],
        [
            [
                f"{found.seconds:.1f} s",
                *each_megabytes,
                verdict(_most_megabytes(found), MOST_MEGABYTES, " MB"),
            ]
        ],
    )
    sealed, size = found.events / found.seal_seconds, found.bundle_bytes / found.events
    print_table(
        f"{found.events:,} events with {found.observer}: the record",
        [
            "seal",
            "events/s",
            "budget",
            "bundle, MB",
            "bytes/event",
            "of it syscalls.parquet",
            "budget",
            "flaws",
        ],
        [
            [
                f"{found.seal_seconds:.2f} s",
                f"{sealed:,.0f}",
                verdict_at_least(sealed, LEAST_SEALED, "/s"),
                f"{found.bundle_bytes / 1e6:.2f}",
                f"{size:.2f}",
                f"{found.table_bytes / found.events:.2f}",
                verdict(size, MOST_BYTES, " bytes"),
                ", ".join(found.flaws) or NONE,
            ]
        ],
    )


def _most_megabytes(found: Scaled) -> float:
    resident = (found.recorder_running, found.recorder_sealing, found.helper_running)
    return max(each.resident for each in resident) / MEGABYTE


def _as_json(found: Scaled) -> dict[str, Any]:
    return {
        name: value._asdict() if isinstance(value, Memory) else value
        for name, value in found._asdict().items()
    }
