"""steno-trace where it is hard to live: sanitizers, few descriptors, refused calls, callers that wait.

Each test runs the whole of `steno run`. A report of a sanitizer goes to a file, because the streams of the
helper are closed while the command runs.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

from support.observers import STOPPING, observers
from support.program import PROGRAM, SECONDS, Steno
from support.programs import compiled
from support.recorded import Recorded, only_run

ROOT = Path(__file__).parents[2]
SANITIZERS = {"memory": "address,undefined", "races": "thread"}
PIDFD_GETFD = "438"
CANNOT = 77
PROCESSES = 120
# Files, links, scripts, threads, sockets, processes that are killed: side by side.
WORKLOAD = """
for i in 1 2 3 4; do (
    for j in 1 2 3 4 5; do
        echo $i > f$i.$j; mv f$i.$j g$i.$j; ln -s g$i.$j l$i.$j; cat l$i.$j; echo more >> g$i.$j; rm l$i.$j
    done
) & done
wait
printf '#!/bin/sh\\nexec true\\n' > script; chmod +x script; ./script
exec "$1" -c '
import os, signal, socket, threading

def work(number):
    for turn in range(20):
        with open(f"t{number}.{turn}", "w") as file:
            file.write("x")
        os.rename(f"t{number}.{turn}", "kept")

threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
socket.socket(socket.AF_UNIX).bind("socket")
for _ in range(20):
    if not (child := os.fork()):
        os.stat("kept")
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
'
"""
FORKING = f"""
import os, signal
children = []
looked, look = os.pipe()
for _ in range({PROCESSES}):
    if not (child := os.fork()):
        os.stat("/")
        os.write(look, b".")
        signal.pause()
    children.append(child)
for child in children:
    os.read(looked, 1)
for child in children:
    os.kill(child, signal.SIGKILL)
for child in children:
    os.waitpid(child, 0)
"""


@functools.cache
def sanitized(sanitizers: str) -> Path:
    program = ROOT / "native" / "build" / sanitizers.replace(",", "-") / "steno-trace"
    program.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-O1", f"-fsanitize={sanitizers}", "-fno-omit-frame-pointer"]
    words: list[str | Path] = [sys.executable, ROOT / "native" / "compile.py", program, *flags]
    subprocess.run(words, check=True, timeout=300)
    return program


def observed(store: Path) -> Recorded:
    run = only_run(store)
    assert run.is_valid
    assert "gap" not in run.types
    return run


@pytest.mark.parametrize("observer", observers())
@pytest.mark.parametrize("kind", SANITIZERS)
def test_no_sanitizer_finds_anything_in_a_busy_run(
    steno: Steno, store: Path, tmp_path: Path, kind: str, observer: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    report = f"log_path={tmp_path / 'report'}:exitcode=99:detect_leaks=0"
    env = {
        "STENO_TRACE": str(sanitized(SANITIZERS[kind])),
        "ASAN_OPTIONS": report,
        "UBSAN_OPTIONS": f"{report}:print_stacktrace=1",
        "TSAN_OPTIONS": report,
    }
    words = ("run", "--observer", observer, "--", "sh", "-c", WORKLOAD, "sh", sys.executable)
    done = steno(*words, cwd=work, env=env)
    reports = [path.read_text() for path in tmp_path.glob("report*")]
    assert not reports, reports[0]
    assert done.returncode == 0, done.stderr
    counts = observed(store).event("kernel_observed")
    assert (counts["lost_events"], counts["unreadable"], counts["unseen_exits"]) == (0, 0, 0)
    assert counts["closed"]


@pytest.mark.parametrize("observer", observers())
def test_a_container_that_refuses_to_hand_out_descriptors_is_observed_all_the_same(
    store: Path, clean_env: dict[str, str], tmp_path: Path, observer: str
) -> None:
    refusing = compiled("refusing")
    words: list[str | Path] = [
        refusing,
        PIDFD_GETFD,
        PROGRAM,
        "run",
        "--observer",
        observer,
        "--",
        "sh",
        "-c",
        "cat /dev/null; exit 3",
    ]
    done = subprocess.run(
        words, env=clean_env, cwd=tmp_path, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 3, done.stderr
    assert observed(store).event("kernel_observed")["processes"] == 2


@pytest.mark.parametrize("observer", observers())
def test_with_few_descriptors_every_call_is_seen_and_every_unseen_end_counted(
    store: Path, clean_env: dict[str, str], tmp_path: Path, observer: str
) -> None:
    words: list[str | Path] = [
        "sh",
        "-c",
        'ulimit -n 64; exec "$@"',
        "sh",
        PROGRAM,
        "run",
        "--observer",
        observer,
        "--",
    ]
    done = subprocess.run(
        [*words, sys.executable, "-S", "-c", FORKING],
        env=clean_env,
        cwd=tmp_path,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run = only_run(store)
    counts = run.event("kernel_observed")
    assert (counts["lost_events"], counts["unreadable"], counts["outlived"]) == (0, 0, 0)
    ends = [process["exit"] for process in run.json("processes.json")["processes"]]
    assert len(ends) == PROCESSES + 1
    assert ends.count(None) == counts["unseen_exits"]
    assert (counts["unseen_exits"] > 0) is (observer == "notify"), "a probe needs no descriptor to see an end"
    assert ends.count({"signal": "SIGKILL", "core": False}) == PROCESSES - counts["unseen_exits"]


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_callers_that_wait_for_each_other_are_all_answered(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    done = steno("run", "--observer", observer, "--", compiled("starving"))
    if done.returncode == CANNOT:
        pytest.skip("userfaultfd is not for us here")
    assert (done.returncode, done.stdout) == (0, b"all were answered\n"), done.stderr
    assert observed(store).event("kernel_observed")["closed"]
