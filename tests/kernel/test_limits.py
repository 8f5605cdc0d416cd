"""A command that takes from its observer, or from the recorder, the right to open, to write or to run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steno.evidence import wire
from support.observers import STOPPING, observers
from support.ordinary import Somebody, as_the_user, place_of_the_user
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import Recorded, only_run
from support.tracees import rows

OUTSIDE, OURS = 1, 2  # arg of `reach`
LIMITS = ("NOFILE", "FSIZE", "CPU")
# Asks for a limit of its observer, then sets limits of it and of its parent, and prints what each way gave.
LIMITING = f"""
import os, resource
observer = os.getppid()
with open(f"/proc/{{observer}}/stat") as file:
    recorder = int(file.read().rpartition(")")[2].split()[1])
resource.prlimit(observer, resource.RLIMIT_NOFILE)
for pid in (observer, recorder):
    for name in {LIMITS}:
        try:
            resource.prlimit(pid, getattr(resource, f"RLIMIT_{{name}}"), (0, 0))
            print("set")
        except PermissionError:
            print("refused")
resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
os.unlink("kept")
"""


def reaches(run: Recorded) -> list[tuple[int, bool]]:
    """Whose process, and whether we refused it."""
    refused = wire.NOTES["refused"]
    return [(row.arg, bool(row.notes & refused)) for row in rows(run) if row.op == "reach"]


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_nobody_of_the_run_limits_the_observer_or_the_recorder(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    (tmp_path / "kept").write_text("kept")
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", LIMITING)
    assert (done.returncode, done.stdout.split()) == (0, [b"refused"] * 6)
    run = only_run(store)
    assert run.is_valid
    assert reaches(run) == [(OURS, True)] * 6
    changes = {one["path"]: one["change"] for one in run.json("files.json")["files"]}
    assert changes[str(tmp_path / "kept")] == "deleted"


def test_nor_does_the_command_of_an_ordinary_user() -> None:
    """For whom the kernel does not ask whether the process may be inspected."""
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        user = Somebody(base, as_the_user(base / "stash"))
        script = LIMITING.replace('os.unlink("kept")', "")
        code, out, _, _ = user.do(
            [*user.recorded[:-1], "--observer", "notify", "--", user.env["PYTHON"], "-c", script]
        )
        assert (code, out.split()) == (0, [b"refused"] * 6)
        assert user.run().is_valid


@pytest.mark.parametrize("limit", [f"RLIMIT_{name}" for name in LIMITS])
@pytest.mark.parametrize("observer", observers(("ebpf",)))
def test_an_observer_that_was_limited_all_the_same_hangs_nothing_and_is_a_gap(
    steno: Steno, store: Path, observer: str, limit: str
) -> None:
    script = f"import os, resource; resource.prlimit(os.getppid(), resource.{limit}, (0, 0)); print('set')"
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", script)
    assert done.stdout == b"set\n"
    assert done.returncode in {0, 125}
    assert only_run(store).verdict().gaps


@pytest.mark.parametrize("whose", ["os.getppid()", "recorder"])
def test_limits_that_nobody_could_refuse_are_a_gap_without_an_observer(
    steno: Steno, store: Path, whose: str
) -> None:
    script = f"""
import os, resource
with open(f"/proc/{{os.getppid()}}/stat") as file:
    recorder = int(file.read().rpartition(")")[2].split()[1])
resource.prlimit({whose}, resource.RLIMIT_CPU, (86400, 86400))
"""
    command = (sys.executable, "-c", script)
    assert steno("run", "--no-git", "--observer", "none", "--", *command).returncode == 0
    assert only_run(store).verdict().gaps == ["recorder_reached"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs a process of another user, which root may limit")
@pytest.mark.parametrize("observer", observers())
def test_a_limit_of_a_process_outside_the_run_is_a_gap(
    clean_env: dict[str, str], tmp_path: Path, store: Path, observer: str
) -> None:
    with subprocess.Popen(["sleep", "600"]) as outside:
        script = f"import resource; resource.prlimit({outside.pid}, resource.RLIMIT_CORE, (0, 0))"
        words = [str(PROGRAM), "run", "--no-git", "--observer", observer, "--", sys.executable, "-c", script]
        try:
            subprocess.run(words, env=clean_env, cwd=tmp_path, timeout=SECONDS, check=True)
        finally:
            outside.kill()
    run = only_run(store)
    assert reaches(run) == [(OUTSIDE, False)]
    assert run.verdict().gaps == ["outside_reached"]
