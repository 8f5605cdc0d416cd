"""The observer killed at any moment: the command does not hang, and what was seen so far is kept and told."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from steno.bundle.verify import Status
from steno.evidence import layout, wire
from support.observer_processes import observer_processes
from support.observers import observers, working
from support.program import PROGRAM, Steno
from support.recorded import Recorded, runs
from support.tracees import rows
from support.waiting import until

# Goes on until it is told that its observer was killed, or can start nothing any more for that reason.
BUSY = "until test -e over; do cat /dev/null || exit; done"
# Until its input ends, which it does with the test.
WAITING = "read line"
# Hanging is the failure; this is how long nobody would wait.
PATIENCE = 100
ROUNDS = 10
SOAK_ROUNDS = 100


def _created(store: Path) -> int:
    """How many files the observer saw being created: what a probe sees waits in its ring for a moment."""
    (events,) = store.glob(f"*/spool/kernel/{wire.EVENTS_FILE}")
    records = events.read_bytes()
    whole = records[: len(records) // wire.EVENT.size * wire.EVENT.size]
    return sum(
        wire.OPS[event.op].name == "open" and bool(event.arg & os.O_CREAT)
        for event in map(wire.Event._make, wire.EVENT.iter_unpack(whole))
        if event.op in wire.OPS
    )


@contextmanager
def _started(env: dict[str, str], cwd: Path, observer: str, script: str) -> Iterator[subprocess.Popen[bytes]]:
    """A recorder at work. What it leaves behind reads the end of its input when this is over."""
    words = [str(PROGRAM), "run", "--no-git", "--observer", observer, "--", "sh", "-c", script]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd=cwd, env=env
    ) as process:
        try:
            until(lambda: bool(observer_processes(process.pid)) or process.poll() is not None)
            yield process
        finally:
            _kill([process.pid])


def _kill_the_observer_after(seconds: float, env: dict[str, str], cwd: Path, observer: str) -> None:
    with _started(env, cwd, observer, BUSY) as process:
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            _kill(observer_processes(process.pid))
        (cwd / "over").touch()
        process.wait(timeout=PATIENCE)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a command that is about to begin goes with the first of them
            os.kill(pid, signal.SIGKILL)


def _check(run: Recorded, steno: Steno) -> None:
    if run.verdict().status != Status.VALID and not (run.path / layout.MANIFEST).exists():
        recovered = steno("recover", run.path)
        assert recovered.returncode == 0, recovered.stderr
    verdict = run.verdict()
    assert verdict.status == Status.INCOMPLETE, verdict
    assert "observer_killed" in verdict.gaps
    assert run.json("observation-health.json")["kernel_layer"] == "partial_ringbuf_drops"
    assert steno("verify", run.path).returncode == 3
    # Killed before the command was born, it has seen nothing.
    assert [row.op for row in rows(run)[:1]] in (["process"], [])


def _kill_at_random_moments(
    rounds: int, seed: int, steno: Steno, env: dict[str, str], cwd: Path, store: Path
) -> None:
    chance = random.Random(seed)
    for number, observer in enumerate(itertools.islice(itertools.cycle(working()), rounds)):
        place = cwd / str(number)
        place.mkdir()
        _kill_the_observer_after(chance.uniform(0, 0.4), env, place, observer)
    assert len(runs(store)) == rounds
    for run in runs(store):
        _check(run, steno)


def test_an_observer_killed_at_a_random_moment_leaves_a_record_that_says_so(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    _kill_at_random_moments(ROUNDS, 1, steno, clean_env, tmp_path, store)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_an_observer_killed_a_hundred_times_leaves_a_record_each_time(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    _kill_at_random_moments(SOAK_ROUNDS, 2, steno, clean_env, tmp_path, store)


@pytest.mark.parametrize("observer", observers())
def test_what_was_seen_before_the_kill_is_in_the_record(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path, observer: str
) -> None:
    mark = tmp_path / "mark"
    copy = tmp_path / "mark.copy"
    script = f"echo x > {mark}; cat {mark} > {copy}; {WAITING}"
    with _started(clean_env, tmp_path, observer, script) as process:
        until(lambda: copy.exists() and copy.read_text() == "x\n" and _created(store) == 2)
        _kill(observer_processes(process.pid))
        process.wait(timeout=PATIENCE)
    (run,) = runs(store)
    _check(run, steno)
    written = [row.where for row in rows(run) if row.op == "open" and row.arg & os.O_WRONLY]
    assert str(mark) in written
    assert str(copy) in written


@pytest.mark.parametrize("observer", observers())
def test_a_recorder_killed_while_it_observes_leaves_what_the_observer_saw(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path, observer: str
) -> None:
    mark = tmp_path / "mark"
    with _started(clean_env, tmp_path, observer, f"echo x > {mark}; {WAITING}") as process:
        until(lambda: mark.exists() and mark.read_text() == "x\n" and _created(store) == 1)
        observers = observer_processes(process.pid)
        process.kill()
        process.wait(timeout=PATIENCE)
        _kill(observers)
    (run,) = runs(store)
    until(lambda: steno("recover", run.path).returncode == 0)
    assert run.verdict().status == Status.INCOMPLETE
    assert str(mark) in [row.where for row in rows(run) if row.op == "open"]
