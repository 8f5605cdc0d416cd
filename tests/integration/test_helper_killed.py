"""The observer killed at any moment: the command does not hang, and what was seen so far is kept and told."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import PROGRAM, Steno
from recorded import Recorded, runs
from steno.bundle.verify import Status
from tracees import rows
from waiting import until

BUSY = "i=0; while [ $i -lt 3000 ]; do cat /dev/null; i=$((i+1)); done"
# Hanging is the failure; this is how long nobody would wait.
PATIENCE = 100
ROUNDS = 10
SOAK_ROUNDS = 100


def _descendants(pid: int) -> list[int]:
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [*children, *[one for child in children for one in _descendants(child)]]


def _observers(pid: int) -> list[int]:
    found = []
    for one in _descendants(pid):
        try:
            if Path(f"/proc/{one}/comm").read_text() == "steno-trace\n":
                found.append(one)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _start(env: dict[str, str], cwd: Path, script: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [PROGRAM, "run", "--no-git", "--", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=env,
    )
    until(lambda: bool(_observers(process.pid)) or process.poll() is not None)
    return process


def _kill_the_observer_after(seconds: float, env: dict[str, str], cwd: Path) -> None:
    process = _start(env, cwd, BUSY)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        for pid in _observers(process.pid):
            os.kill(pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)


def _check(run: Recorded, steno: Steno) -> None:
    if run.verdict().status != Status.VALID and not (run.path / "manifest.json").exists():
        recovered = steno("recover", run.path)
        assert recovered.returncode == 0, recovered.stderr
    verdict = run.verdict()
    assert verdict.status == Status.INCOMPLETE, verdict
    assert "observer_killed" in verdict.gaps
    assert run.json("observation-health.json")["kernel_layer"] == "partial"
    assert steno("verify", run.path).returncode == 3
    assert rows(run)[0].op == "process"


def _kill_at_random_moments(
    rounds: int, seed: int, steno: Steno, env: dict[str, str], cwd: Path, store: Path
) -> None:
    chance = random.Random(seed)
    for _ in range(rounds):
        _kill_the_observer_after(chance.uniform(0, 0.4), env, cwd)
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


def test_what_was_seen_before_the_kill_is_in_the_record(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    mark = tmp_path / "mark"
    process = _start(clean_env, tmp_path, f"echo x > {mark}; cat {mark} > {mark}.copy; sleep 1000")
    copy = tmp_path / "mark.copy"
    until(lambda: copy.exists() and copy.read_text() == "x\n")
    for pid in _observers(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)
    (run,) = runs(store)
    _check(run, steno)
    written = [row.where for row in rows(run) if row.op == "open" and row.arg & os.O_WRONLY]
    assert str(mark) in written
    assert str(copy) in written


def test_a_recorder_killed_while_it_observes_leaves_what_the_observer_saw(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    mark = tmp_path / "mark"
    process = _start(clean_env, tmp_path, f"echo x > {mark}; sleep 1000")
    until(lambda: mark.exists() and mark.read_text() == "x\n")
    observers = _observers(process.pid)
    process.kill()
    process.wait(timeout=PATIENCE)
    for pid in observers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    (run,) = runs(store)
    until(lambda: steno("recover", run.path).returncode == 0)
    assert run.verdict().status == Status.INCOMPLETE
    assert str(mark) in [row.where for row in rows(run) if row.op == "open"]
