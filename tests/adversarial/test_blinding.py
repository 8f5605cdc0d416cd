"""A command that works against its observer: reaches into it, signals its group, leaves what is stopped."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cgroups import MOUNT
from conftest import PROGRAM, SECONDS, Steno
from observers import observers
from ordinary import Somebody, as_the_user, place_of_the_user
from recorded import only_run
from steno.capture.native_program import find_program

SOURCES = Path(__file__).parents[2] / "native" / "tests"
EPERM, EACCES = 1, 13
# A group whose leader ends while a member is stopped: the kernel hangs that member up, unless somebody of the
# session could still continue it.
ORPHANED = """
import os, signal
leader = os.fork()
if not leader:
    os.setpgid(0, 0)
    member = os.fork()
    if not member:
        os.kill(os.getpid(), signal.SIGSTOP)
        signal.pause()
    os.waitpid(member, os.WUNTRACED)
    os._exit(0)
os.waitpid(leader, 0)
print("left")
"""
WITH_NONE = ["none", *observers()]


def compiled(folder: Path, name: str) -> Path:
    program = folder / name
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    words = ["cc", *flags, "-o", str(program), str(SOURCES / f"{name}.c")]
    subprocess.run(words, check=True, timeout=SECONDS)
    return program


def told(output: str) -> dict[tuple[str, str], int]:
    """What each way into each process gave: 0 or an errno."""
    return {(whose, way): int(errno) for whose, way, errno in (line.split() for line in output.splitlines())}


def test_an_ordinary_command_cannot_reach_into_the_observer_nor_into_the_recorder() -> None:
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        user = Somebody(base, as_the_user(base / "stash"))
        kept = base / "kept"
        kept.write_text("kept")
        words = [
            *user.recorded[:-1],
            "--observer",
            "notify",
            "--",
            str(compiled(base, "stealing")),
            str(kept),
        ]
        code, out, err, _ = user.do(words)
        assert (code, err) == (0, b"")
        assert set(told(out.decode()).values()) <= {EPERM, EACCES}
        assert kept.read_text() == "kept"
        assert user.run().is_valid
        assert "gap" not in user.run().types


@pytest.mark.parametrize("observer", WITH_NONE)
def test_the_command_itself_can_be_inspected_as_bare(steno: Steno, observer: str) -> None:
    done = steno(
        "run", "--observer", observer, "--", "sh", "-c", "cat /proc/$$/environ >/dev/null && echo read"
    )
    assert done.stdout == b"read\n"


@pytest.mark.parametrize("name", ["TERM", "HUP", "ALRM", "PROF"])
@pytest.mark.parametrize("observer", WITH_NONE)
def test_a_signal_to_its_own_group_at_once_costs_neither_output_nor_seal(
    clean_env: dict[str, str], tmp_path: Path, store: Path, observer: str, name: str
) -> None:
    words = [
        "run",
        "--no-git",
        "--observer",
        observer,
        "--",
        "sh",
        "-c",
        f"echo first; kill -{name} 0; sleep 60",
    ]
    done = subprocess.run(
        [PROGRAM, *words],
        capture_output=True,
        cwd=tmp_path,
        env=clean_env,
        timeout=SECONDS,
        check=False,
        process_group=0,
    )
    number = signal.Signals[f"SIG{name}"]
    assert (done.returncode, done.stdout) == (128 + number, b"first\n")
    assert only_run(store).is_valid
    assert "gap" not in only_run(store).types


@pytest.mark.parametrize("observer", WITH_NONE)
def test_what_is_stopped_in_an_orphaned_group_is_hung_up_as_bare(
    steno: Steno, store: Path, observer: str
) -> None:
    done = steno("run", "--observer", observer, "--", sys.executable, "-c", ORPHANED)
    assert (done.returncode, done.stdout) == (0, b"left\n")
    assert only_run(store).is_valid


@pytest.mark.parametrize("observer", WITH_NONE)
def test_the_command_finds_the_signals_as_bare(
    steno: Steno, clean_env: dict[str, str], observer: str
) -> None:
    program = shutil.which("grep") or "grep"
    words = [program, "^SigIgn", "/proc/self/status"]
    bare = subprocess.run(words, capture_output=True, env=clean_env, timeout=SECONDS, check=True)
    done = steno("run", "--observer", observer, "--", *words)
    assert done.stdout == bare.stdout


@pytest.mark.skipif(os.getuid() != 0 or MOUNT is None, reason="needs a cgroup that belongs to another user")
def test_the_probe_is_loaded_neither_from_another_file_nor_for_the_cgroup_of_another_user() -> None:
    program = find_program("steno-probe")
    asked = subprocess.run([program, "--check", "--object", "/dev/null"], capture_output=True, check=False)
    assert asked.returncode == 2
    assert b"unrecognized option" in asked.stderr
    assert MOUNT is not None
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    cgroup = os.open(MOUNT, os.O_RDONLY | os.O_DIRECTORY)
    with ours, its, place_of_the_user() as base:
        (base / "stash").mkdir()
        words = [str(program), "--to", str(its.fileno()), "--cgroup", str(cgroup)]
        done = subprocess.run(
            [*as_the_user(base / "stash"), *words],
            pass_fds=[its.fileno(), cgroup],
            timeout=SECONDS,
            check=False,
        )
        os.close(cgroup)
        assert done.returncode == 1
        assert b"the cgroup belongs to another user" in ours.recv(4096)
