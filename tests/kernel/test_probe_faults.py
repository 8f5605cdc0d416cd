"""A probe that cannot be had, or that is taken away: told in the record, and never in the command's way.

Left to itself (`--observer auto`) a run goes on with the filter alone and says why. Asked for, the probe is
there or the command is not run.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import steno as package
from support.cgroups import born_in, delegated, left_by, needs_scope
from support.observers import PROBING, observers, working
from support.ordinary import Somebody, as_the_user, place_of_the_user
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import only_run, runs, spooled
from support.tracees import rows
from support.waiting import until

NATIVE = Path(package.__file__).parent / "native"
OBJECT = "probe.bpf.o"
LITTLE_MEMORY = 64 << 10
PROGRAMS_ON_CGROUP = 4
# bpftool gives up when a link that it lists goes away meanwhile: the probe of another test has ended.
ATTEMPTS = 50
# A mount namespace of its own, in which one thing is hidden.
_HIDE = 'mount --make-rprivate / && {hide} && exec "$@"'
HIDING_TYPES = _HIDE.format(hide="mount -t tmpfs none /sys/kernel/btf")
HIDING_FILE = _HIDE.format(hide='mount --bind /dev/null "$1" && shift')
WORK = ["sh", "-c", "echo made >made; cat made"]

pytestmark = [
    needs_scope,
    pytest.mark.skipif(os.getuid() != 0, reason="the tests are not run by root"),
    pytest.mark.skipif(not working(PROBING), reason="no probe can be loaded here"),
]


def script(folder: Path, text: str) -> str:
    program = folder / "steno-probe"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o700)
    return str(program)


def copied(folder: Path) -> Path:
    """A steno-probe whose object can be harmed."""
    shutil.copy(NATIVE / "steno-probe", folder)
    shutil.copy(NATIVE / OBJECT, folder)
    return folder / "steno-probe"


def check_recorded_by_the_filter_alone(store: Path, reason: str) -> None:
    run = only_run(store)
    health = run.json("observation-health.json")
    assert run.event("probe_state") == {"state": reason}
    assert f"probe_absent:{reason}" in health["notes"]
    assert health["kernel_layer"] == "complete"
    assert health["steno"]["observer"] == "notify"
    assert "notify" in health["steno"]["features"]
    assert "ebpf" not in health["steno"]["features"]
    assert run.stream("stdout") == b"made\n"
    assert [row.where for row in rows(run) if row.op == "open" and row.where.endswith("/made")]
    assert run.is_valid
    assert left_by(run.path.name) == []


def check_not_run(done: subprocess.CompletedProcess[bytes], reason: str, folder: Path, store: Path) -> None:
    assert done.returncode == 125, done.stderr
    assert f"({reason})".encode() in done.stderr
    assert b"hint: " in done.stderr
    assert not (folder / "made").exists()
    assert runs(store) == []


class Trouble:
    """Runs with something in the probe's way."""

    def __init__(self, folder: Path, env: dict[str, str], store: Path) -> None:
        self.folder, self._env, self._store = folder, env, store

    def check(self, reason: str, *before: str, **changes: str) -> None:
        """By itself it goes on without the probe; asked for it, it does not."""
        for observer in PROBING:
            done = self.run(observer, before, changes)
            check_not_run(done, reason, self.folder, self._store)
        done = self.run("auto", before, changes)
        assert done.returncode == 0, done.stderr
        check_recorded_by_the_filter_alone(self._store, reason)

    def run(
        self, observer: str, before: Sequence[str], changes: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*before, PROGRAM, "run", "--no-git", "--observer", observer, "--", *WORK],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            env={**self._env, **changes},
            timeout=SECONDS,
            check=False,
        )


@pytest.fixture
def trouble(tmp_path: Path, clean_env: dict[str, str], store: Path) -> Trouble:
    folder = tmp_path / "work"
    folder.mkdir()
    return Trouble(folder, clean_env, store)


# --- it cannot be had -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "does",
    ["exit 1", "kill -9 $$", "sleep 0.2; kill -9 $$", "exec sh -c 'exit 0'"],
    ids=["exits", "is killed", "is killed after a while", "becomes another"],
)
def test_a_probe_that_ends_before_it_hands_over(does: str, trouble: Trouble, tmp_path: Path) -> None:
    trouble.check("gone", STENO_PROBE=script(tmp_path, does))


@pytest.mark.soak
def test_a_probe_that_never_ends_is_not_waited_for(trouble: Trouble, tmp_path: Path) -> None:
    trouble.check("gone", STENO_PROBE=script(tmp_path, "exec sleep 100 >/dev/null 2>&1"))


def test_a_probe_that_hands_over_something_else(trouble: Trouble, tmp_path: Path) -> None:
    """One datagram that is no handover."""
    talks = "import os, sys; os.write(int(sys.argv[sys.argv.index('--to') + 1]), b'nonsense')"
    trouble.check("gone", STENO_PROBE=script(tmp_path, f'exec \'{sys.executable}\' -c "{talks}" "$@"'))


def test_a_probe_that_cannot_be_executed(trouble: Trouble, tmp_path: Path) -> None:
    program = tmp_path / "steno-probe"
    program.write_bytes(b"\x7fELF, and nothing else")
    program.chmod(0o700)
    trouble.check("gone", STENO_PROBE=str(program))


def test_an_object_that_is_missing(trouble: Trouble, tmp_path: Path) -> None:
    program = copied(tmp_path)
    (tmp_path / OBJECT).unlink()
    trouble.check("no_object", STENO_PROBE=str(program))


@pytest.mark.parametrize("harm", ["emptied", "cut", "overwritten"])
def test_an_object_that_is_damaged(harm: str, trouble: Trouble, tmp_path: Path) -> None:
    program = copied(tmp_path)
    whole = (tmp_path / OBJECT).read_bytes()
    half = len(whole) // 2
    (tmp_path / OBJECT).write_bytes(
        {"emptied": b"", "cut": whole[:half], "overwritten": whole[:64] + bytes(half) + whole[half + 64 :]}[
            harm
        ]
    )
    trouble.check("load_failed", STENO_PROBE=str(program))


def test_a_kernel_that_does_not_tell_its_types(trouble: Trouble) -> None:
    trouble.check("no_btf", "unshare", "--mount", "sh", "-c", HIDING_TYPES, "sh")


def test_a_machine_without_the_library(trouble: Trouble) -> None:
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True, timeout=SECONDS)
    places = [line.split()[-1] for line in found.stdout.splitlines() if "libbpf.so.1 " in line]
    assert places
    library = str(Path(places[0]).resolve())
    trouble.check("no_libbpf", "unshare", "--mount", "sh", "-c", HIDING_FILE, "sh", library)


def test_little_memory_that_may_be_locked_is_enough(trouble: Trouble, store: Path) -> None:
    """Old kernels charge maps to it; this one does not, or the loader is root."""
    before = ["prlimit", f"--memlock={LITTLE_MEMORY}:{LITTLE_MEMORY}"]
    done = trouble.run("both", before, {})
    assert done.returncode == 0, done.stderr
    assert only_run(store).json("observation-health.json")["steno"]["observer"] == "both"


def test_an_ordinary_user_is_recorded_by_the_filter_and_refused_the_probe() -> None:
    with place_of_the_user() as base, delegated() as own:
        (base / "stash").mkdir()
        user = Somebody(base, [*born_in(own), *as_the_user(base / "stash")])
        asked = [*user.recorded[:2], "--observer", "ebpf", *user.recorded[2:], *WORK]
        status, output, errors, left = user.do(asked)
        assert (status, output, left) == (125, b"", {})
        assert b"(not_permitted)" in errors
        assert b"hint: run as root" in errors
        assert user.do([*user.recorded, *WORK])[:2] == (0, b"made\n")
        health = user.run().json("observation-health.json")
        assert (health["kernel_layer"], health["steno"]["observer"]) == ("complete", "notify")


# --- it is told strange things --------------------------------------------------------------------------


def test_bits_that_the_kernel_does_not_look_at_do_not_part_the_witnesses(steno: Steno, store: Path) -> None:
    """prctl(2) takes an int: what stands above it is nothing to either."""
    asks = "import ctypes; ctypes.CDLL(None).syscall(ctypes.c_long(157), ctypes.c_long(1 << 32 | 22), 99)"
    done = steno("run", "--no-git", "--observer", "both", "--", sys.executable, "-c", asks)
    assert done.returncode == 0, done.stderr
    run = only_run(store)
    assert [row.result for row in rows(run) if row.op == "seccomp"] == [-errno.EINVAL]
    assert run.json("observation-health.json")["steno"]["witness_disagreements"]["count"] == 0


# --- it is taken away -----------------------------------------------------------------------------------


@contextmanager
def gated(observer: str, env: Mapping[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose command waits at a gate, which is open when the test has done what it does meanwhile."""
    os.mkfifo(folder / "gate")
    os.mkfifo(folder / "there")
    command = ["sh", "-c", "echo >there; read line <gate; exit 0"]
    words = [str(PROGRAM), "run", "--no-git", "--observer", observer, "--", *command]
    with subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.DEVNULL) as recorder:
        (folder / "there").read_bytes()
        try:
            yield recorder
        finally:
            until(lambda: _is_opened(folder / "gate") or recorder.poll() is not None)


def _is_opened(gate: Path) -> bool:
    try:
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:  # nobody waits yet, or any more: the command may have gone with its keeper
        return False
    return True


def cgroup_of(store: Path) -> int:
    (told,) = [line for line in spooled(store).splitlines() if b'"type":"cgroup_scope"' in line]
    return int(json.loads(told)["data"]["cgroup_id"])


def keeper_of(recorder: subprocess.Popen[bytes]) -> int:
    for pid in Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):  # steno-probe, which has done its work
            if Path(f"/proc/{pid}/comm").read_text() == "steno-trace\n":
                return int(pid)
    raise AssertionError("the run has no keeper")


def links_of(cgroup: int) -> list[int]:
    """The programs on the cgroup that can be taken off it; those at tracepoints cannot."""
    for _ in range(ATTEMPTS):
        told = subprocess.run(
            ["bpftool", "--json", "link"], capture_output=True, check=False, timeout=SECONDS
        )
        if told.returncode == 0:
            return [one["id"] for one in json.loads(told.stdout) if one.get("cgroup_id") == cgroup]
    raise AssertionError(told.stdout + told.stderr)


@pytest.mark.parametrize("observer", observers(PROBING))
def test_a_program_that_is_taken_off_the_cgroup_makes_the_record_partial(
    observer: str, tmp_path: Path, clean_env: dict[str, str], store: Path
) -> None:
    with gated(observer, clean_env, tmp_path):
        links = links_of(cgroup_of(store))
        assert len(links) == PROGRAMS_ON_CGROUP
        for link in links:
            subprocess.run(["bpftool", "link", "detach", "id", str(link)], check=True, timeout=SECONDS)
    run = only_run(store)
    assert run.json("observation-health.json")["kernel_layer"] == "partial_ringbuf_drops"
    assert run.event("kernel_observed")["lost_events"] == len(links)
    assert run.verdict().exit_code == 3


@pytest.mark.parametrize("observer", observers(PROBING))
def test_a_killed_observer_takes_the_probe_with_it_and_leaves_a_record_and_no_cgroup(
    observer: str, steno: Steno, tmp_path: Path, clean_env: dict[str, str], store: Path
) -> None:
    with gated(observer, clean_env, tmp_path) as recorder:
        cgroup = cgroup_of(store)
        os.kill(keeper_of(recorder), signal.SIGKILL)
        until(lambda: links_of(cgroup) == [])
    run = only_run(store)
    assert run.verdict().gaps.count("observer_killed") == 1
    assert run.json("observation-health.json")["kernel_layer"] == "partial_ringbuf_drops"
    until(lambda: steno("doctor", "--clean").returncode == 0 and left_by(run.path.name) == [])
