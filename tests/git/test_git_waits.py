"""The command leaves something that git waits for: a signal ends the waiting, and the record says so."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from support.program import PROGRAM, Steno
from support.recorded import only_run
from support.waiting import SECONDS, until


def all_children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def command_line(pid: str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def waiting_children(pid: int) -> list[str]:
    """The gits that look at the repository; not the one that was asked for its version."""
    return [child for child in all_children(pid) if b"--no-pager" in command_line(child)]


def guards(pid: int) -> list[str]:
    """Those of gits that take long."""
    return [child for child in all_children(pid) if b"kill -s KILL" in command_line(child)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_git_waits_gives_git_up_and_the_record_is_sealed(
    clean_env: dict[str, str], repo: Path, store: Path, number: signal.Signals
) -> None:
    steno = ["env", "--default-signal=INT", str(PROGRAM)]  # a test in the background ignores Control-C
    words = [*steno, "run", "--observer", "none", "--", "mkfifo", ".gitignore"]
    with subprocess.Popen(words, cwd=repo, env=clean_env) as recorder:
        try:
            until((repo / ".gitignore").exists)
            until(lambda: bool(waiting_children(recorder.pid)))
            children = waiting_children(recorder.pid)
            recorder.send_signal(number)
            assert recorder.wait(SECONDS) == 0
        finally:
            recorder.kill()
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    run = only_run(store)
    assert run.verdict().exit_code == 3
    (gap,) = [gap for gap in run.json("run.json")["gaps"] if gap["reason"] == "repo_after_unknown"]
    assert gap["detail"].startswith("GIT_INTERRUPTED: git ")
    assert number.name in gap["detail"]


def test_a_git_that_hangs_ends_with_a_killed_recorder(
    clean_env: dict[str, str], repo: Path, steno: Steno
) -> None:
    words = [str(PROGRAM), "run", "--observer", "none", "--", "mkfifo", ".gitignore"]
    with subprocess.Popen(words, cwd=repo, env=clean_env) as recorder:
        try:
            until(lambda: len(guards(recorder.pid)) == len(waiting_children(recorder.pid)) > 0)
            children = all_children(recorder.pid)
        finally:
            recorder.kill()
    until(lambda: not [child for child in children if Path(f"/proc/{child}/exe").exists()])
    assert steno("recover", "@last").returncode == 0
