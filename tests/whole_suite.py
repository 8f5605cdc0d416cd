"""Runs all tests of the working directory on two workers, then the few that failed there once more, alone.

The suite drives real processes, terminals and browsers on machines that others use, too. What fails twice is
a failure. What fails only beside the others is *unsteady*, a race in Steno or in the test that somebody has
to find: it is named in the last lines, and more than a few are a failure as well. Nothing else is forgiven.
What the tests leave running, also those that fail, is ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

PYTEST = [sys.executable, "-m", "pytest", "-m", "not soak"]
BESIDE_EACH_OTHER = ["-n", "2", "--dist", "worksteal"]
ALONE = ["--last-failed", "--last-failed-no-failures", "none"]
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
SOME_FAILED = 1
MOST_UNSTEADY = 5
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    _heed_the_keyboard()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        return _judge()
    finally:
        _end_what_is_left()


def _heed_the_keyboard() -> None:
    """A shell and nohup start programs with some of these ignored, and the tests would inherit that.

    A signal that is handled here is not ignored in what we start; whoever said nohup still is outlived.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def _judge() -> int:
    LAST_FAILED.unlink(missing_ok=True)
    first = _run([*PYTEST, *BESIDE_EACH_OTHER])
    failed = sorted(json.loads(LAST_FAILED.read_bytes())) if first == SOME_FAILED else []
    if not 0 < len(failed) <= MOST_UNSTEADY:
        return first
    print(f"{len(failed)} failed beside the others and are run once more, alone", flush=True)
    second = _run([*PYTEST, *ALONE])
    if second == 0:
        for name in failed:
            print(f"unsteady: {name}")
    return second


def _run(words: list[str]) -> int:
    """Like subprocess.run, but orphans of the tests become our children here, and are reaped at once."""
    started = subprocess.Popen(words)
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
    sys.exit(main())
