"""Runs pytest over the working directory, on as many workers as the machine has processors and one more.

In: what else pytest is told. Up to three tests that fail beside the others are run once more, alone: what
passes then is *unsteady*, a race in Steno or in the test, and is named in the last lines; what fails twice is
a failure. The time of each test is kept in `junit.xml`, in artifacts/ or where STENO_ARTIFACTS says. What the
tests leave running is ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

MOST_UNSTEADY = 3
_SOME_FAILED = 1
_LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
_PR_SET_CHILD_SUBREAPER = 36


def main(*words: str) -> int:
    _heed_the_keyboard()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    workers = len(os.sched_getaffinity(0)) + 1  # a third of the time of many tests is waiting
    junit = Path(os.environ.get("STENO_ARTIFACTS", "artifacts")) / "junit.xml"
    beside_each_other = [f"-n{workers}", "--dist=worksteal", f"--junitxml={junit}"]
    _LAST_FAILED.unlink(missing_ok=True)
    try:
        first = _run([sys.executable, "-m", "pytest", *beside_each_other, *words])
        return _run_again(words) if first == _SOME_FAILED else first
    finally:
        _end_what_is_left()


def _run_again(words: tuple[str, ...]) -> int:
    failed = sorted(json.loads(_LAST_FAILED.read_bytes()))
    if not 0 < len(failed) <= MOST_UNSTEADY:
        return _SOME_FAILED
    print(f"{len(failed)} failed beside the others and are run once more, alone", flush=True)
    second = _run([sys.executable, "-m", "pytest", "--last-failed", *words])
    if second == 0:
        for name in failed:
            print(f"unsteady: {name}")
    return second


def _heed_the_keyboard() -> None:
    """A shell and nohup start programs with some of these ignored, and the tests would inherit that.

    A signal that is handled here is not ignored in what we start; whoever said nohup still is outlived.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def _run(words: list[str]) -> int:
    """Like subprocess.run, but orphans of the tests become our children here, and are reaped at once."""
    # What pytest makes of the tests' sources is kept, or collecting takes twice as long.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = subprocess.Popen(words, env=env)
    while True:
        pid, status = os.wait()
        if pid == started.pid:
            started.returncode = os.waitstatus_to_exitcode(status)
            return started.returncode


def _end_what_is_left() -> None:
    """Killed as often as children of the killed come to us; empty cgroups of theirs go as well."""
    while left := _children():
        for pid in left:
            print(f"left running by a test, and ended: {pid} {_command(pid)}", flush=True)
            os.kill(pid, signal.SIGKILL)
        for pid in left:
            os.waitpid(pid, 0)
    steno = Path(sys.executable).with_name("steno")
    if steno.exists():
        subprocess.run([steno, "doctor", "--clean"], check=False, capture_output=True)


def _children() -> list[int]:
    threads = Path("/proc/self/task").iterdir()
    return [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
