"""A run has a cgroup of its own where that can be; who is left in it is waited for or told; nothing stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.judgement_cache import CACHE
from support.cgroups import MOUNT, born_in, delegated, left_by, needs_scope
from support.ordinary import Somebody, as_the_user, may_mount, place_of_the_user, root_may_mount
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import Recorded, only_run, spooled
from support.screen import Screen
from support.waiting import until

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="the tests are not run by root")
LATE = "(read line <gate; echo late >after) & echo now"
FOREVER = ["run", "--no-git", "--wait-descendants", "forever", "--"]
# As steno-trace does when the probe that was asked for cannot be had.
REFUSING = """#!{python}
import os, struct, sys
words = sys.argv
assert words[words.index("--observer") + 1] == "{mode}" and "--probe-optional" not in words
assert {{"--cgroup", "--probe-at"}} <= set(words)
os.write(int(words[words.index("--status") + 1]), struct.pack("<Biqqqq", 8, {state}, 0, 0, 0, 0))
"""


def outlived(run: Recorded) -> list[str]:
    gaps = [event["data"] for event in run.events if event["type"] == "gap"]
    return [gap["detail"] for gap in gaps if gap["reason"] == "processes_outlived"]


@contextmanager
def recording(env: dict[str, str], cwd: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [PROGRAM, *words],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as recorder:
        yield recorder


# --- in it ----------------------------------------------------------------------------------------------


@needs_scope
def test_the_command_is_born_in_a_cgroup_that_is_gone_afterwards(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--", "sh", "-c", "cat /proc/self/cgroup")
    run = only_run(store)
    scope = run.event("cgroup_scope")
    assert scope["path"].endswith(f"/steno-{run.path.name}")
    assert f"0::{scope['path']}".encode() in run.stream("stdout").splitlines()
    assert scope["hierarchy"] in {"unified", "hybrid"}
    assert run.event("cgroup_ended") == {"empty": True, "removed": True}
    assert run.types.index("cgroup_scope") < run.types.index("command_started")
    assert run.types.index("command_finished") < run.types.index("cgroup_ended")
    assert run.is_valid
    assert left_by(run.path.name) == []


@needs_scope
def test_a_command_that_cannot_be_started_leaves_no_cgroup(steno: Steno, store: Path) -> None:
    assert steno("run", "--no-git", "--", "/none/such").returncode == 127
    run = only_run(store)
    assert run.event("cgroup_ended") == {"empty": True, "removed": True}
    assert left_by(run.path.name) == []


def test_without_an_observer_there_is_no_cgroup(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--observer", "none", "--", "true")
    assert not {"cgroup_scope", "cgroup_ended"} & set(only_run(store).types)


@needs_scope
def test_a_run_in_a_run_has_a_cgroup_in_the_cgroup(
    steno: Steno, store: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    inner = ["run", "--no-git", "--store", str(tmp_path / "inner"), "--", "true"]
    steno("run", "--no-git", "--", PROGRAM, *inner, env={"HOME": clean_env["HOME"]})
    outer, inside = only_run(store), only_run(tmp_path / "inner")
    assert inside.event("cgroup_scope")["path"].startswith(outer.event("cgroup_scope")["path"] + "/")
    assert outer.event("cgroup_ended")["removed"]
    assert left_by(inside.path.name) == []


@needs_scope
def test_cgroups_that_the_command_makes_are_removed_too(steno: Steno, store: Path) -> None:
    script = f'mkdir -p "{MOUNT}/$(sed -n s/^0:://p /proc/self/cgroup)/a/b"'
    steno("run", "--no-git", "--", "sh", "-c", script)
    run = only_run(store)
    assert run.event("cgroup_ended") == {"empty": True, "removed": True}
    assert left_by(run.path.name) == []


# --- who is left ----------------------------------------------------------------------------------------


@needs_scope
def test_a_process_that_outlives_the_wait_is_named_once_and_goes_on(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    script = (
        "sleep 60 >/dev/null 2>&1 & echo $! >pid\n"
        "until read name </proc/$!/comm; test $name = sleep; do :; done"  # it is born with the shell's name
    )
    done = steno("run", "--no-git", "--wait-descendants", "0", "--", "sh", "-c", script)
    pid = int((tmp_path / "pid").read_text())
    try:
        assert done.returncode == 0
        run = only_run(store)
        left = [{"pid": pid, "name": "sleep"}]
        assert run.event("cgroup_ended") == {"empty": False, "removed": True, "left": left, "left_count": 1}
        assert outlived(run) == [f"1 process was alive when the recording ended: sleep ({pid})"]
        assert run.verdict().exit_code == 3
        assert left_by(run.path.name) == []
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "scoped", [pytest.param(True, marks=needs_scope), pytest.param(False, marks=root_may_mount)]
)
def test_what_a_process_does_that_is_waited_for_is_recorded(
    scoped: bool, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    hidden = [] if scoped else _without_cgroups()
    words = [*hidden, str(PROGRAM), *FOREVER, "sh", "-c", LATE]
    with subprocess.Popen(words, env=clean_env, cwd=tmp_path, stdout=subprocess.DEVNULL) as recorder:
        until(lambda: b'"command_finished"' in spooled(store))
        (tmp_path / "gate").write_bytes(b"\n")
        assert recorder.wait(SECONDS) == 0
    run = only_run(store)
    assert ("path" in run.event("cgroup_scope")) is scoped
    assert run.is_valid
    assert any(one["path"] == str(tmp_path / "after") for one in run.json("files.json")["files"])


@pytest.mark.parametrize(
    "scoped", [pytest.param(True, marks=needs_scope), pytest.param(False, marks=root_may_mount)]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_and_not_the_process(
    scoped: bool, number: int, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    script = "sleep 60 >/dev/null 2>&1 & echo $! >pid"
    words = [*([] if scoped else _without_cgroups()), str(PROGRAM), *FOREVER, "sh", "-c", script]
    with subprocess.Popen(words, env=clean_env, cwd=tmp_path) as recorder:
        until(lambda: b'"command_finished"' in spooled(store))
        recorder.send_signal(number)
        assert recorder.wait(SECONDS) == 0
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    run = only_run(store)
    assert len(outlived(run)) == 1
    assert run.event("recorder_signalled")["forwarded"] is False


def test_on_a_terminal_control_c_ends_the_wait_and_the_keys_before_it_are_the_shells(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.with_prompt(clean_env, tmp_path)
    screen.line("steno run --no-git --wait-descendants forever -- sh -c 'sleep 60 & echo $! >pid; echo done'")
    screen.see("done\r\n")
    until(lambda: screen.has_control_keys)  # the command is over, and they are the shell's again
    screen.keys("\x03")
    screen.see("recorded")
    screen.see("READY> ")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    screen.line("exit")
    screen.rest()
    assert len(outlived(only_run(store))) == 1


def test_on_a_terminal_what_is_written_during_the_wait_is_shown_as_it_is(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    screen = Screen.with_prompt(clean_env, tmp_path)
    screen.line(
        "steno run --no-git --wait-descendants forever -- sh -c '(read go <gate; echo la; echo te) &'"
    )
    until(lambda: b'"command_finished"' in spooled(store))
    (tmp_path / "gate").write_text("go\n")
    screen.see("la\r\nte\r\n")
    screen.see("READY> ")
    screen.line("stty -a")
    screen.see("\nopost")
    screen.see(" echo ")
    screen.line("exit")
    screen.rest()


@pytest.mark.parametrize("wrong", ["-1", "soon", "nan", "inf", ""])
def test_a_wait_that_is_no_number_is_refused(wrong: str, steno: Steno, store: Path) -> None:
    done = steno("run", "--wait-descendants", wrong, "--", "true")
    assert done.returncode == 125
    assert b"forever" in done.stderr
    assert not store.exists()


# --- nothing stays --------------------------------------------------------------------------------------


@needs_scope
@pytest.mark.parametrize("way", [["doctor", "--clean"], ["recover", "@last"]], ids=lambda way: way[0])
def test_the_cgroup_of_a_killed_recorder_is_removed_when_its_processes_have_ended(
    way: list[str], steno: Steno, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    command = ["run", "--no-git", "--", "sh", "-c", "read line <gate"]
    with recording(clean_env, tmp_path, *command) as recorder:
        until(lambda: b'"command_started"' in spooled(store))
        recorder.kill()
    run = only_run(store)
    (place,) = left_by(run.path.name)
    told = json.loads(steno("doctor", "--clean", "--json").stdout)["cgroups"]
    assert [one["done"] for one in told if one["path"].endswith(run.path.name)] == ["in_use"]
    assert place.exists()
    (tmp_path / "gate").write_bytes(b"\n")
    until(lambda: steno(*way).returncode == 0 and not place.exists())


@needs_scope
def test_a_cgroup_with_a_process_in_one_that_the_command_made_stays_until_it_has_ended(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    inner = f'inner="{MOUNT}/$(sed -n s/^0:://p /proc/self/cgroup)/inner"; mkdir "$inner"'
    script = f'{inner}; sleep 60 >/dev/null 2>&1 & echo $! >pid; cat pid >"$inner/cgroup.procs"'
    steno("run", "--no-git", "--wait-descendants", "0", "--", "sh", "-c", script)
    pid = int((tmp_path / "pid").read_text())
    try:
        run = only_run(store)
        (place,) = left_by(run.path.name)
        assert not run.event("cgroup_ended").get("removed")
        assert len(outlived(run)) == 1
    finally:
        os.kill(pid, signal.SIGKILL)
    until(lambda: is_empty(place))
    told = [line for line in cleaned(steno).splitlines() if run.path.name in line]
    assert not place.exists()
    # Whoever records at this moment may have swept it before.
    assert all("was left by a run that is over; it is removed" in line for line in told)


def is_empty(place: Path) -> bool:
    """Or gone."""
    try:
        return "populated 0" in (place / "cgroup.events").read_text()
    except OSError:
        return True


def cleaned(steno: Steno) -> str:
    return steno("doctor", "--clean").stdout.decode()


def test_there_may_be_nothing_to_clean(steno: Steno) -> None:
    done = steno("doctor", "--clean", "--json")
    assert done.returncode == 0
    assert isinstance(json.loads(done.stdout)["cgroups"], list)


@needs_scope
@pytest.mark.parametrize(("state", "word"), [(2, "no_btf"), (6, "gone"), (99, "unknown")])
@pytest.mark.parametrize("mode", ["ebpf", "both"])
def test_a_probe_that_was_asked_for_and_is_refused_ends_the_run_before_the_command(
    mode: str, state: int, word: str, steno: Steno, store: Path, tmp_path: Path
) -> None:
    trace, probe = tmp_path / "steno-trace", tmp_path / "steno-probe"
    trace.write_text(REFUSING.format(python=sys.executable, mode=mode, state=state))
    probe.write_text("#!/bin/sh\n")
    for program in (trace, probe):
        program.chmod(0o700)
    env = {"STENO_TRACE": str(trace), "STENO_PROBE": str(probe)}
    done = steno("run", "--observer", mode, "--", "touch", "made", env=env)
    assert done.returncode == 125
    assert f"({word})".encode() in done.stderr
    assert b"hint: " in done.stderr
    assert not (tmp_path / "made").exists()
    assert {path.name for path in store.iterdir() if path.is_dir()} <= {CACHE}


# --- for whom there is none -----------------------------------------------------------------------------


def _without_cgroups() -> list[str]:
    """The words to put before a command that is to find no file system of cgroups."""
    options = [] if os.getuid() == 0 else ["--map-root-user"]
    if not may_mount(*options):
        pytest.skip("no mount can be changed here")
    return ["unshare", *options, "--mount", "sh", "-c", _HIDE, "sh"]


_HIDE = 'mount --make-rprivate / && umount --recursive --lazy /sys/fs/cgroup && exec "$@"'
_READ_ONLY = 'mount --make-rprivate / && mount -o remount,bind,ro "$1" && shift && exec "$@"'


def _scope_of(store: Path) -> dict[str, Any]:
    run = only_run(store)
    assert run.is_valid
    assert "cgroup_ended" not in run.types
    return run.event("cgroup_scope")


@needs_root
def test_without_a_mount_the_run_is_recorded_and_the_reason_told(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    words = [*_without_cgroups(), str(PROGRAM), "run", "--no-git", "--", "true"]
    subprocess.run(words, env=clean_env, cwd=tmp_path, check=True, timeout=SECONDS)
    assert _scope_of(store)["reason"] == "no_cgroup2_mount"


@root_may_mount
@needs_scope
def test_where_the_mount_is_read_only_the_run_is_recorded_and_the_reason_told(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    before = ["unshare", "--mount", "sh", "-c", _READ_ONLY, "sh", str(MOUNT)]
    words = [*before, str(PROGRAM), "run", "--no-git", "--", "true"]
    subprocess.run(words, env=clean_env, cwd=tmp_path, check=True, timeout=SECONDS)
    assert _scope_of(store)["reason"] == "read_only"


@needs_root
@needs_scope
def test_an_ordinary_user_has_none_in_a_cgroup_of_others_and_one_in_a_cgroup_of_its_own() -> None:
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        user = Somebody(base, as_the_user(base / "stash"))
        assert user.do([*user.recorded, "true"])[0] == 0
        assert user.run().event("cgroup_scope")["reason"] == "not_permitted"
        assert user.run().is_valid
    with place_of_the_user() as base, delegated() as own:
        (base / "stash").mkdir()
        user = Somebody(base, [*born_in(own), *as_the_user(base / "stash")])
        assert user.do([*user.recorded, "cat", "/proc/self/cgroup"])[0] == 0
        run = user.run()
        scope = run.event("cgroup_scope")
        assert scope["path"] == f"/{own.relative_to(str(MOUNT))}/steno-{run.path.name}"
        assert f"0::{scope['path']}".encode() in run.stream("stdout").splitlines()
        assert run.event("cgroup_ended") == {"empty": True, "removed": True}
        assert run.is_valid
        assert left_by(run.path.name) == []
