"""Killing the recorder at any moment loses nothing that was spooled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.store import RunState, state_of
from steno.bundle.verify import Status
from steno.evidence import layout
from support.observers import working
from support.program import PROGRAM, Steno
from support.recorded import Recorded, only_run, runs, spooled
from support.waiting import until

ROUNDS = 200
BATCHES = 20
IN_A_HURRY = 2  # the other batches are for `make soak`
COUNT = "i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); done; echo done; exit 7"
LINES = b"".join(b"line %d\n" % i for i in range(400)) + b"done\n"


@pytest.mark.parametrize(
    "batch", [pytest.param(n, marks=[pytest.mark.soak] if n >= IN_A_HURRY else []) for n in range(BATCHES)]
)
def test_a_run_killed_at_a_random_moment_is_valid_or_recoverable(
    steno: Steno, clean_env: dict[str, str], repo: Path, store: Path, batch: int
) -> None:
    chance = random.Random(batch)
    for _ in range(ROUNDS // BATCHES):
        number = chance.choice([signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGKILL])
        observer = chance.choice(working())
        _kill_after(chance.uniform(0, 0.2), number, clean_env, repo, store, observer)
    for run in runs(store):
        _check(run, steno)
    for path in store.glob(".new-*"):
        os.utime(path, (0, 0))  # a folder that young could still get its recorder
    assert steno("recover", "--all").returncode == 0
    assert list(store.glob(".new-*")) == []


def _kill_after(
    seconds: float, number: signal.Signals, env: dict[str, str], repo: Path, store: Path, observer: str
) -> None:
    """Kill the recorder some time after its run has come into being."""
    before = _names(store)
    process = subprocess.Popen(
        [PROGRAM, "run", "--observer", observer, "--", "sh", "-c", COUNT],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=repo,
        env=env,
    )
    until(lambda: _names(store) != before)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        process.wait(timeout=60)


def _names(store: Path) -> set[str]:
    return {path.name for path in store.iterdir()} if store.exists() else set()


def _check(run: Recorded, steno: Steno) -> None:
    spooled = _spooled(run)
    status = run.verdict().status
    if status != Status.VALID:
        assert status == Status.INCOMPLETE, run.verdict()
        until(lambda: _state(run) not in {RunState.RUNNING, RunState.ORPHANED})
        recovered = steno("recover", str(run.path))
        assert recovered.returncode == 0, recovered.stderr
    after = run.verdict()
    assert after.status in {Status.VALID, Status.INCOMPLETE}, after
    assert LINES.startswith(run.stream("stdout"))
    for path, data in spooled.items():
        assert run.evidence(path).startswith(data)


def _state(run: Recorded) -> RunState:
    with Folder(run.path) as folder:
        return state_of(folder)


def _spooled(run: Recorded) -> dict[str, bytes]:
    """The stream bytes that had reached the spool when the recorder died."""
    spool = run.path / layout.SPOOL
    return {tape: (spool / tape).read_bytes() for tape in layout.TAPES if (spool / tape).exists()}


def test_the_recovered_record_says_that_it_is_not_whole(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    process = _start_waiting_command(clean_env, tmp_path, store, "--observer", "none")
    process.kill()
    process.wait(timeout=60)
    assert steno("verify", "@last").returncode == 3
    assert steno("recover", "@last").returncode == 0
    run = only_run(store)
    assert run.stream("stdout") == b"ready\n"
    assert run.event("run_finish") == {"completed": False, "exit_code": None, "reason": "recorder_killed"}
    assert run.verdict().gaps == ["recorder_killed"]
    assert steno("verify", "@last").returncode == 3


def test_a_run_that_is_still_recorded_is_not_recovered(
    steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    process = _start_waiting_command(clean_env, tmp_path, store)
    refused = steno("recover", "@last")
    assert refused.returncode == 2
    assert b"still being recorded" in refused.stderr
    process.terminate()
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert only_run(store).is_valid


def test_without_an_observer_a_killed_recorder_on_a_terminal_hangs_up_its_command(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    process = _start_waiting_command(clean_env, tmp_path, store, "--pty", "always", "--observer", "none")
    until(lambda: bool(_started_pids(store)))
    (pid,) = _started_pids(store)
    process.kill()
    process.wait(timeout=60)
    until(lambda: _has_ended(pid))


def test_a_killed_keeper_leaves_the_exit_status_declared_unknown(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    process = _start_waiting_command(clean_env, tmp_path, store)
    (keeper,) = [child for child in _children(process.pid) if _children(child)]
    (command,) = _children(keeper)
    os.kill(keeper, signal.SIGKILL)
    assert process.wait(timeout=60) == 125
    with suppress(ProcessLookupError):  # what nobody observes any more cannot be loaded
        os.kill(command, signal.SIGKILL)
    assert "exit_status_unknown" in only_run(store).verdict().gaps


@pytest.mark.parametrize("count", [30, pytest.param(200, marks=pytest.mark.soak)])
def test_many_runs_at_once_all_seal(
    clean_env: dict[str, str], tmp_path: Path, store: Path, count: int
) -> None:
    observers = ["notify"] * 9 + ["auto"]  # a probe for each would take a while to load
    running = [
        subprocess.Popen(
            [
                *(PROGRAM, "run", "--no-git", "--observer", observers[n % 10]),
                *("--", "sh", "-c", f"echo {n}; exit {n % 50}"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=clean_env,
        )
        for n in range(count)
    ]
    codes = [(process.communicate(timeout=240)[1], process.returncode) for process in running]
    assert codes == [(b"", n % 50) for n in range(count)]
    recorded = runs(store)
    assert len(recorded) == count
    assert all(run.is_valid for run in recorded)
    assert sorted(int(run.stream("stdout")) for run in recorded) == list(range(count))


def _start_waiting_command(
    env: dict[str, str], cwd: Path, store: Path, *options: str
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [PROGRAM, "run", "--no-git", *options, "--", "sh", "-c", "echo ready; exec sleep 120"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=env,
    )
    until(lambda: any(map(_is_kept, _outputs(store))))
    return process


def _is_kept(output: Path) -> bool:
    """With its index, which is written after it: killed in between, a recorder leaves a torn stream."""
    data = output.read_bytes()
    is_written = data.endswith(b"ready\n") or b"ready\r" in data
    return is_written and output.with_name(layout.index_of(output.name)).stat().st_size > 0


def _outputs(store: Path) -> list[Path]:
    return [
        path
        for run in runs(store)
        for tape in (layout.STDOUT, layout.OUTPUT)
        if (path := run.path / layout.SPOOL / tape).exists()
    ]


def _started_pids(store: Path) -> list[int]:
    whole = [line for line in spooled(store).splitlines(keepends=True) if line.endswith(b"\n")]
    return [event["data"]["pid"] for event in map(json.loads, whole) if event["type"] == "command_started"]


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
