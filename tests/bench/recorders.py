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
BARE, STENO_RUN, STRACE, REPROZIP = "bare", "steno", "strace", "reprozip"
INSTALL_SECONDS = 300
_TOLD_BYTES = 300


class Taken(NamedTuple):
    """One measurement, in seconds. `own` is the command's own time, where the recorder tells it."""

    whole: float
    own: float
    cpu: float  # of all processes together
    peak_kib: int
    events: int | None = None
    health: str | None = None  # of the kernel layer
    failure: str | None = None


class Recorder(NamedTuple):
    name: str
    before: tuple[str, ...]

    def around(self, words: Sequence[str]) -> list[str]:
        return [*self.before, *words]


class Recorders(NamedTuple):
    all: list[Recorder]
    missing: list[str]


class RunFacts(NamedTuple):
    """What a sealed run tells of its command."""

    own: float
    events: int | None
    health: str
    finished_epoch: float
    folder: Path


def find_recorders(place: Path, env: Mapping[str, str], *, reprozip: bool) -> Recorders:
    found = [Recorder(BARE, ()), Recorder(STENO_RUN, (str(STENO), "run", "--observer", "notify", "--"))]
    missing = []
    if strace := shutil.which("strace"):
        options = ("-f", "--seccomp-bpf", "-e", "trace=file,process,network", "-o", "/dev/null")
        found.append(Recorder(STRACE, (strace, *options)))
    else:
        missing.append("strace is not installed: its column is left out")
    if not reprozip:
        missing.append("reprozip was not asked for: its column is left out")
        return Recorders(found, missing)
    try:
        found.append(_install_reprozip(place, env))
    except (subprocess.SubprocessError, OSError) as error:
        missing.append(f"reprozip cannot be installed or does not run here, its column is left out: {error}")
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
        REPROZIP, (str(folder / "bin" / "reprozip"), "trace", "-d", str(place / "reprozip-trace"), *options)
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
        begin = time.perf_counter()
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
    if recorder.name != STENO_RUN:
        return taken
    try:
        facts = read_run(store)
    except (OSError, LookupError, ValueError) as error:
        return taken._replace(failure=f"no record can be read: {error!r}")
    return taken._replace(own=facts.own, events=facts.events, health=facts.health)


def read_run(store: Path) -> RunFacts:
    """Of the only run in the store."""
    (path,) = store.glob("*/events.ndjson")
    events: dict[str, dict[str, Any]] = {}
    for line in path.read_bytes().splitlines():
        event = json.loads(line)
        events[event["type"]] = event
    started, finished = events["command_started"], events["command_finished"]
    observed = events.get("kernel_observed")
    health = json.loads((path.parent / "observation-health.json").read_bytes())
    return RunFacts(
        own=(finished["mono_ns"] - started["mono_ns"]) / 1e9,
        events=observed["data"]["events"] if observed else None,
        health=health["kernel_layer"],
        finished_epoch=finished["ts_ms"] / 1e3,
        folder=path.parent,
    )


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


def say_progress(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
