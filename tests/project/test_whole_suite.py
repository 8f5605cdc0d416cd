from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from whole_suite import MOST_UNSTEADY

RUNNER = Path(__file__).parents[1] / "whole_suite.py"
UNSTEADY = """
import pathlib, pytest
@pytest.mark.parametrize("number", range({count}))
def test_that_fails_the_first_time(number):
    seen = pathlib.Path(f"seen-{{number}}")
    again = seen.exists()
    seen.touch()
    assert again
"""
STEADY = "def test_that_always_fails():\n    assert False\n"
LEAVES = """
import subprocess
def test_that_leaves_a_process_behind():
    subprocess.Popen(["sh", "-c", "setsid sleep 1000 & echo $! >left"]).wait()
"""
HEEDS = """
import signal
def test_that_can_be_interrupted():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGQUIT) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
"""
SOUND = "def test_that_passes():\n    pass\n"


def run_suite(
    folder: Path, *tests: str, before: tuple[str, ...] = (), words: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = soak: long\n")
    (folder / "test_it.py").write_text("\n".join(tests))
    return subprocess.run(
        [*before, sys.executable, RUNNER, *words],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "STENO_ARTIFACTS"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_suite_that_passes_is_run_once(tmp_path: Path) -> None:
    done = run_suite(tmp_path, SOUND)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("test session starts") == 1
    assert "unsteady" not in done.stdout
    assert (tmp_path / "artifacts" / "junit.xml").exists()


def test_a_test_that_fails_only_once_is_named_as_unsteady(tmp_path: Path) -> None:
    done = run_suite(tmp_path, SOUND, UNSTEADY.format(count=2))
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-2:] == [
        f"unsteady: test_it.py::test_that_fails_the_first_time[{number}]" for number in range(2)
    ]


def test_a_test_that_fails_twice_is_a_failure_and_nothing_is_called_unsteady(tmp_path: Path) -> None:
    done = run_suite(tmp_path, UNSTEADY.format(count=1), STEADY)
    assert done.returncode == 1, done.stdout
    assert "unsteady" not in done.stdout


def test_more_than_a_few_that_fail_are_a_failure_at_once(tmp_path: Path) -> None:
    done = run_suite(tmp_path, UNSTEADY.format(count=MOST_UNSTEADY + 1))
    assert done.returncode == 1, done.stdout
    assert done.stdout.count("test session starts") == 1


def test_what_is_asked_for_is_run(tmp_path: Path) -> None:
    done = run_suite(tmp_path, SOUND, STEADY, words=("-k", "passes"))
    assert done.returncode == 0, done.stdout


def test_a_file_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    done = run_suite(tmp_path, SOUND, "import no_such_module")
    assert done.returncode not in (0, 5), done.stdout


def test_what_a_test_leaves_running_is_ended_and_named(tmp_path: Path) -> None:
    done = run_suite(tmp_path, LEAVES, STEADY)
    left = int((tmp_path / "left").read_text())
    assert f"left running by a test, and ended: {left} sleep 1000" in done.stdout
    assert not Path(f"/proc/{left}").exists()


def test_a_suite_started_in_the_background_is_interrupted_like_any_other(tmp_path: Path) -> None:
    done = run_suite(tmp_path, HEEDS, before=("sh", "-c", 'trap "" HUP INT QUIT; exec "$@"', "sh"))
    assert done.returncode == 0, done.stdout
