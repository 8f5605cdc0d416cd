"""assay-runner: S7, what must not break attribution, one test a check, by the installed program."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from steno.evidence import layout
from support.assay_archives import Measure, Measured, exported, failed_step, sealed_run, taken_apart
from support.frames_made import FakeFrames, Found
from support.observers import PROBING, observers, working
from support.program import Steno

# Forks and lets the child do it; the parent waits, so that the order is always the same.
FORK_FIRST = """
import os, sys
child = os.fork()
if child == 0:
    os.read(os.open(sys.argv[1], os.O_RDONLY), 1)
    os._exit(0)
os.waitpid(child, 0)
"""
# The child is gone as soon as it has opened the file: nobody closes, nobody waits for a process.
QUICK_EXIT = """
import os, sys
reading, writing = os.pipe()
if os.fork() == 0:
    os.open(sys.argv[1], os.O_RDONLY)
    os._exit(0)
os.close(writing)
os.read(reading, 1)
"""
SIBLINGS = """
import os, sys
children = []
for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        os.open(path, os.O_RDONLY)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""
CONNECT = "import socket, sys; socket.socket().connect_ex(('127.0.0.1', int(sys.argv[1])))"
FLOOD = """
import os
for _ in range(20000):
    os.close(os.open("/dev/null", os.O_RDONLY))
"""
SMALLEST_RING = {"STENO_RING_BYTES": "4096"}
every_observer = pytest.mark.parametrize("observer", observers())


def python(script: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", script, *words)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text("1")
    other.write_text("2")
    return one, other


def pids_that_opened(measured: Measured, path: Path) -> list[int]:
    return [line["pid"] for line in measured.kernel if line["event_type"] == 1 and line["value"] == str(path)]


def pid_of_the_command(measured: Measured) -> int:
    found = measured.kernel[0]["pid"]
    assert isinstance(found, int)
    return found


@every_observer
def test_s7_a_child_that_forks_before_the_access_is_attributed(
    measure: Measure, observer: str, files: tuple[Path, Path]
) -> None:
    measured = measure(observer, *python(FORK_FIRST, str(files[0])))
    assert str(files[0]) in measured.surface["filesystem_paths"]
    (pid,) = pids_that_opened(measured, files[0])
    assert pid != pid_of_the_command(measured)
    assert measured.status == "valid", measured.verified


@every_observer
def test_s7_a_child_that_exits_quickly_after_the_access_is_attributed(
    measure: Measure, observer: str, files: tuple[Path, Path]
) -> None:
    measured = measure(observer, *python(QUICK_EXIT, str(files[0])))
    assert str(files[0]) in measured.surface["filesystem_paths"]
    (pid,) = pids_that_opened(measured, files[0])
    assert pid != pid_of_the_command(measured)


@every_observer
def test_s7_two_siblings_that_touch_different_files_are_told_apart(
    measure: Measure, observer: str, files: tuple[Path, Path]
) -> None:
    measured = measure(observer, *python(SIBLINGS, *map(str, files)))
    assert set(map(str, files)) <= set(measured.surface["filesystem_paths"])
    (one,), (other,) = (pids_that_opened(measured, path) for path in files)
    assert len({one, other, pid_of_the_command(measured)}) == 3


@every_observer
def test_s7_attribution_is_the_same_in_three_runs(
    measure: Measure, observer: str, files: tuple[Path, Path]
) -> None:
    surfaces = [measure(observer, *python(SIBLINGS, *map(str, files))).surface for _ in range(3)]
    for surface in surfaces:
        surface.pop("run_id")
    assert surfaces[0] == surfaces[1] == surfaces[2]


# --- denials without a policy: what was refused is not called done -------------------------------------


@every_observer
def test_s7_a_file_that_is_not_there_is_attempted_and_no_capability(
    measure: Measure, observer: str, tmp_path: Path
) -> None:
    missing = str(tmp_path / "missing.txt")
    measured = measure(observer, "cat", missing)
    assert missing not in measured.surface["filesystem_paths"]
    assert missing in measured.surface["steno"]["files"]["attempted"]
    assert {
        line.get("status") for line in measured.kernel if line["event_type"] == 1 and line["value"] == missing
    } <= {
        "error",
        None,
    }


@every_observer
def test_s7_a_program_that_cannot_be_executed_is_attempted_and_no_capability(
    measure: Measure, observer: str, tmp_path: Path
) -> None:
    missing = str(tmp_path / "missing")
    measured = measure(observer, "sh", "-c", f"{missing}; true")
    assert missing not in measured.surface["process_execs"]
    assert missing in measured.surface["steno"]["execs"]["attempted"]


@every_observer
def test_s7_a_write_that_is_refused_is_never_called_a_success(
    measure: Measure, observer: str, tmp_path: Path
) -> None:
    directory = str(tmp_path)
    measured = measure(observer, *python("import os, sys; os.open(sys.argv[1], os.O_WRONLY)", directory))
    assert measured.done.returncode != 0
    statuses = {
        line.get("status")
        for line in measured.kernel
        if line["event_type"] == 1 and line["value"] == directory and line["access_mode"] == "write"
    }
    assert statuses
    assert "success" not in statuses
    assert directory not in measured.surface["steno"]["files"]["written"]


@pytest.mark.skipif(not working(PROBING), reason="results of connections are seen by a probe only")
@pytest.mark.parametrize("observer", observers(PROBING))
def test_s7_a_connection_that_is_refused_is_attempted_and_no_capability(
    measure: Measure, observer: str
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, and nobody listens
        port = closed.getsockname()[1]
        measured = measure(observer, *python(CONNECT, str(port)))
    assert measured.surface["network_endpoints"] == []
    assert measured.surface["steno"]["endpoints"]["attempted"] == [f"127.0.0.1:{port}"]


# --- ring-buffer pressure ------------------------------------------------------------------------------


@pytest.mark.skipif(not working(PROBING), reason="there is no probe here, so there is no ring buffer")
@pytest.mark.parametrize("observer", observers(PROBING))
def test_s7_induced_ring_buffer_pressure_sets_partial_ringbuf_drops(
    measure: Measure, steno: Steno, observer: str
) -> None:
    measured = measure(observer, *python(FLOOD), env=SMALLEST_RING)
    assert measured.done.returncode == 0
    assert measured.health["ringbuf_drops"] > 0
    assert measured.health["kernel_layer"] == "partial_ringbuf_drops"
    assert measured.status == "incomplete"
    assert steno("verify", "@last").returncode == 3
    assert b"partial" in steno("show", "@last").stdout


def test_s7_simulated_ring_buffer_pressure_sets_partial_ringbuf_drops(tmp_path: Path) -> None:
    made = FakeFrames().process().event("open", "/a", state=Found(), arg=os.O_RDONLY, result=0).exit()
    archive = exported(sealed_run(tmp_path / "run", made.header(ring_lost=7)), tmp_path)
    files = taken_apart(archive)
    assert b'"kernel_layer":"partial_ringbuf_drops"' in files[layout.HEALTH]
    assert b'"ringbuf_drops":7' in files[layout.HEALTH]
    assert failed_step(archive)[:2] == ("incomplete", 9)
