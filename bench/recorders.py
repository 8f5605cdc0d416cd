"""How a command is run bare and under each recorder, and what is measured of it.

In: the words of a command. Out: seconds from start to end; for Steno also the seconds between the command's
own start and end, as its record tells them, and the events in it. Recorders that are not here say why.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

STENO = Path(sys.executable).with_name("steno")
BARE, STRACE, REPROZIP = "bare", "strace", "reprozip"
NOTIFY, EBPF, BOTH = OBSERVERS = ("notify", "ebpf", "both")
INSTALL_SECONDS = 300
SLOW_SECONDS = 3.0  # a peer that takes longer than this gets fewer rounds
_TOLD_BYTES = 300


class Taken(NamedTuple):
    """One measurement, in seconds. `own` is the command's own time, where the recorder tells it."""

    whole: float
    own: float
    cpu: float  # of all processes together
    peak_kib: int
    start_up: float | None = None  # from the start of the recorder to that of the command
    events: int | None = None
    flaws: tuple[str, ...] = ()  # of the record: what the kernel layer lacks
    failure: str | None = None


class Recorder(NamedTuple):
    """`observer`: it is Steno, with this one. The rest is how much patience a peer is given."""

    name: str
    before: tuple[str, ...]
    observer: str | None = None
    most_rounds: int | None = None
    slow_rounds: int | None = None
    on_one_core: bool = True

    def around(self, words: Sequence[str]) -> list[str]:
        return [*self.before, *words]

    def rounds(self, wanted: int, latest: float) -> int:
        most = min(wanted, self.most_rounds or wanted)
        return min(most, self.slow_rounds or most) if latest > SLOW_SECONDS else most


class Recorders(NamedTuple):
    all: list[Recorder]
    missing: list[str]


class Observers(NamedTuple):
    working: list[str]
    missing: list[str]


class RunFacts(NamedTuple):
    """What a sealed run tells of its command."""

    own: float
    events: int | None
    observer: str | None
    flaws: tuple[str, ...]
    started_epoch: float
    finished_epoch: float
    folder: Path


def find_observers(wanted: Sequence[str], env: Mapping[str, str]) -> Observers:
    """Those that the doctor finds to work, of those that are wanted."""
    answer = subprocess.run([STENO, "doctor", "--json"], env=env, capture_output=True, check=False).stdout
    told: dict[str, str | None] = json.loads(answer).get("observers", {NOTIFY: None})
    reasons = {name: told.get(name, "this steno does not have it") for name in wanted}
    return Observers(
        [name for name, reason in reasons.items() if reason is None],
        [f"observer {name} is left out: {reason}" for name, reason in reasons.items() if reason is not None],
    )


def find_recorders(
    observers: Sequence[str], place: Path, env: Mapping[str, str], *, reprozip: bool
) -> Recorders:
    found = [Recorder(BARE, ())]
    found += [
        Recorder(name, (str(STENO), "run", "--observer", name, "--"), observer=name) for name in observers
    ]
    missing = []
    if strace := shutil.which("strace"):
        options = ("-f", "--seccomp-bpf", "-e", "trace=file,process,network", "-o", "/dev/null")
        found.append(Recorder(STRACE, (strace, *options), slow_rounds=3))
    else:
        missing.append("strace is not installed: it is left out")
    if not reprozip:
        missing.append("reprozip was not asked for: it is left out")
        return Recorders(found, missing)
    try:
        found.append(_install_reprozip(place, env))
    except (subprocess.SubprocessError, OSError) as error:
        missing.append(f"reprozip cannot be installed or does not run here, it is left out: {error}")
    return Recorders(found, missing)


def _install_reprozip(place: Path, env: Mapping[str, str]) -> Recorder:
    """Into an environment of its own, and tried once."""
    say_progress("installing reprozip")
    folder = place / "reprozip"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "reprozip"]
    subprocess.run(pip, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    options = ("--overwrite", "--dont-identify-packages", "--dont-find-inputs-outputs")
    recorder = Recorder(
        REPROZIP,
        (str(folder / "bin" / "reprozip"), "trace", "-d", str(place / "reprozip-trace"), *options),
        most_rounds=2,
        slow_rounds=1,
        on_one_core=False,
    )
    subprocess.run(recorder.around(["/bin/true"]), env=env, check=True, capture_output=True)
    return recorder


def measure(
    recorder: Recorder, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
) -> Taken:
    """Output goes to a file beside the workload; the end of it is told when the command fails."""
    store = Path(env["STENO_HOME"])
    clear_store(store)
    with log.open("wb") as output:
        begin, begin_epoch = time.perf_counter(), time.time()
        process = subprocess.Popen(
            recorder.around(words), cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
        whole = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    taken = Taken(whole, whole, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
    if process.returncode != 0:
        told = log.read_bytes()[-_TOLD_BYTES:].decode(errors="replace")
        return taken._replace(failure=f"exit code {process.returncode}: {told}")
    return taken if recorder.observer is None else _with_record(taken, recorder.observer, store, begin_epoch)


def _with_record(taken: Taken, observer: str, store: Path, begin_epoch: float) -> Taken:
    try:
        facts = read_run(store)
    except (OSError, LookupError, ValueError) as error:
        return taken._replace(failure=f"no record can be read: {error!r}")
    if facts.observer != observer:
        return taken._replace(failure=f"the observer was {facts.observer}, not {observer}")
    return taken._replace(
        own=facts.own,
        start_up=facts.started_epoch - begin_epoch,
        events=facts.events,
        flaws=facts.flaws,
    )


def read_run(store: Path) -> RunFacts:
    """Of the only run in the store."""
    (path,) = store.glob("*/events.ndjson")
    events: dict[str, dict[str, Any]] = {}
    for line in path.read_bytes().splitlines():
        event = json.loads(line)
        events[event["type"]] = event
    started, finished = events["command_started"], events["command_finished"]
    observed = events.get("kernel_observed", {}).get("data", {})
    health = json.loads((path.parent / "observation-health.json").read_bytes())
    return RunFacts(
        own=(finished["mono_ns"] - started["mono_ns"]) / 1e9,
        events=observed.get("events"),
        observer=observed.get("observer"),
        flaws=_flaws(health["kernel_layer"], observed),
        started_epoch=started["ts_ms"] / 1e3,
        finished_epoch=finished["ts_ms"] / 1e3,
        folder=path.parent,
    )


def _flaws(kernel_layer: str, observed: Mapping[str, Any]) -> tuple[str, ...]:
    lost = sum(observed.get(name, 0) for name in ("lost_events", "ring_lost"))
    disagreements = sum(observed.get(name, 0) for name in ("only_notify", "only_ebpf"))
    found = [] if kernel_layer == "complete" else [kernel_layer]
    found += [f"lost {lost}"] if lost else []
    found += [f"disagree {disagreements}"] if disagreements else []
    return tuple(found)


def clear_store(store: Path) -> None:
    """Of its runs; the key stays, which is made once and not with every run."""
    subprocess.run(["rm", "-rf", "--", *store.glob("*/")], check=True)


@contextmanager
def on_cores(*, pinned: bool) -> Iterator[None]:
    """Pinned: everything on the first core we may use, as `taskset -c 0` does."""
    allowed = os.sched_getaffinity(0)
    if pinned:
        os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def name_of_cores(*, pinned: bool) -> str:
    return "one core" if pinned else "all cores"


def say_progress(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
