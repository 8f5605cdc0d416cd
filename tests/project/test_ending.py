from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from support.waiting import until

TESTS = """
import subprocess

def leave(tmp_path, name):
    subprocess.Popen(["sh", "-c", f"setsid sleep 1000 & echo $! >{FOLDER}/{name}"], cwd=tmp_path).wait()

def test_that_fails(tmp_path):
    leave(tmp_path, "failed")
    assert False

def test_that_passes(tmp_path):
    leave(tmp_path, "passed")
"""


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_what_a_test_that_fails_has_left_running_is_ended_and_nothing_of_another(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {Path(__file__).parents[1]}\n")
    (tmp_path / "test_it.py").write_text(f"FOLDER = {str(tmp_path)!r}\n{TESTS}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "support.ending"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    failed, passed = (int((tmp_path / name).read_text()) for name in ("failed", "passed"))
    try:
        assert "left running, and ended" in done.stdout
        assert f"{failed} sleep 1000" in done.stdout
        until(lambda: not is_running(failed))
        assert is_running(passed)
    finally:
        os.kill(passed, signal.SIGKILL)
