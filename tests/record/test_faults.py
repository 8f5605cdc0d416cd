"""Bad input and faults: a clear error with a hint, the right exit code, and nothing lost."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.bundle.verify import Status
from steno.contracts.capture_run import hashes
from steno.evidence import layout
from steno.model.run import open as open_run
from steno.record.run import Outcome
from support.ordinary import root_may_mount
from support.program import PROGRAM, Steno
from support.recorded import only_run, runs

MIB = 1 << 20
# What a recorder may use at most, however much the command writes.
MEMORY_KIB = 150 * 1024


def assert_clear(done: subprocess.CompletedProcess[bytes], code: int, *words: str) -> None:
    message = done.stderr.decode()
    assert done.returncode == code, message
    assert "Traceback" not in message
    assert "\nhint: " in message
    for word in words:
        assert word in message


def test_no_command_is_an_error_of_ours(steno: Steno) -> None:
    assert_clear(steno("run"), 125, "no command")


def test_an_unknown_option_is_an_error_of_ours(steno: Steno) -> None:
    assert_clear(steno("run", "--nonsense", "--", "true"), 125, "--nonsense")


def test_a_command_that_is_not_found_is_127_and_a_sealed_record(steno: Steno, store: Path) -> None:
    assert_clear(steno("run", "--no-git", "--", "no-such-program"), 127, "no-such-program")
    run = only_run(store)
    assert run.event("command_not_started")["message"] == "No such file or directory"
    assert run.json("run.json")["exit_code"] == 127
    assert run.is_valid


def test_a_file_that_is_not_executable_is_126_and_a_sealed_record(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("text")
    assert_clear(steno("run", "--no-git", "--", "./plain"), 126, "./plain", "Permission denied")
    assert only_run(store).is_valid


def test_a_directory_as_command_is_126(steno: Steno, tmp_path: Path) -> None:
    assert_clear(steno("run", "--no-git", "--", str(tmp_path)), 126)


def test_a_missing_cwd_stops_before_anything_is_recorded(steno: Steno, store: Path) -> None:
    assert_clear(steno("run", "--cwd", "nowhere", "--", "true"), 125, "nowhere")
    assert runs(store) == []


def test_a_cwd_that_is_a_file_is_named(steno: Steno, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_clear(steno("run", "--cwd", "file", "--", "true"), 125, "Not a directory")


def test_a_store_that_cannot_be_made_stops_before_the_command_runs(steno: Steno, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = steno("run", "--store", str(tmp_path / "file" / "store"), "--", "touch", "ran")
    assert_clear(done, 125, "store")
    assert not (tmp_path / "ran").exists()


def test_no_place_for_a_store_is_said(clean_env: dict[str, str], tmp_path: Path) -> None:
    """A user that the system does not know has no home but the one that HOME names."""
    unknown = ["setpriv", "--reuid", "64999", "--clear-groups", sys.executable, "-m", "steno"]
    if _as_user([*unknown, "--version"], Path("/"), clean_env).returncode:
        pytest.skip("other users cannot run the tests' interpreter, or they are not run by root")
    done = _as_user([*unknown, "run", "--", "true"], Path("/"), {**clean_env, "STENO_HOME": "", "HOME": ""})
    assert_clear(done, 125, "--store")


def test_an_unknown_export_stops_before_the_command_runs(steno: Steno, tmp_path: Path) -> None:
    assert_clear(
        steno("run", "--export", "nonsense:out", "--", "touch", "ran"), 125, "nonsense", "capture-run"
    )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("word", ["", "nothing-like-it", "/no/such/place"])
@pytest.mark.parametrize("command", ["show", "verify", "play", "pack", "recover"])
def test_a_run_that_does_not_exist_is_named(steno: Steno, command: str, word: str) -> None:
    steno("run", "--no-git", "--", "true")
    done = steno(command, word)
    assert done.returncode in {2, 4}
    assert_clear(done, done.returncode)


def test_an_ambiguous_run_lists_what_it_could_be(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--", "true")
    steno("run", "--no-git", "--", "true")
    assert_clear(steno("show", "20"), 2, *(run.path.name for run in runs(store)))


def test_git_missing_is_a_skip_and_the_run_goes_on(
    steno: Steno, store: Path, repo: Path, tmp_path: Path
) -> None:
    only_sh = tmp_path / "bin"
    only_sh.mkdir()
    (only_sh / "sh").symlink_to("/bin/sh")
    done = steno("run", "--", "sh", "-c", "echo ran", cwd=repo, env={"PATH": str(only_sh)})
    assert done.stdout == b"ran\n"
    assert only_run(store).event("repo_snapshot_before")["reason"] == "GIT_MISSING"


def test_a_broken_git_directory_is_declared_and_the_run_goes_on(
    steno: Steno, store: Path, repo: Path
) -> None:
    (repo / ".git" / "index").write_bytes(b"garbage")
    done = steno("run", "--", "echo", "ran", cwd=repo)
    assert (done.returncode, done.stdout) == (0, b"ran\n")
    run = only_run(store)
    assert run.event("repo_snapshot_before")["reason"] == "GIT_BROKEN"
    assert run.verdict().exit_code == 3


def test_git_broken_by_the_command_is_a_gap(steno: Steno, store: Path, repo: Path) -> None:
    done = steno("run", "--", "rm", "-rf", ".git", cwd=repo)
    assert done.returncode == 0
    assert only_run(store).verdict().exit_code == 3


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", "-l", path], check=True)


@root_may_mount
def test_a_full_disk_does_not_disturb_the_command_and_the_loss_is_counted(
    steno: Steno, small_disk: Path
) -> None:
    size = 40 * MIB
    done = steno(
        "run",
        "--no-git",
        "--store",
        str(small_disk / "runs"),
        "--",
        "sh",
        "-c",
        f"yes | head -c {size}; exit 9",
    )
    assert done.returncode == 9
    assert len(done.stdout) == size
    assert "stream_lost: terminal/stdout: No space left on device" in done.stderr.decode()
    run = only_run(small_disk / "runs")
    assert run.verdict().status is Status.INCOMPLETE
    (lost,) = [event["data"] for event in run.events if event["data"].get("reason") == "stream_lost"]
    assert len(run.stream("stdout")) + lost["lost_bytes"] == size


@root_may_mount
def test_a_run_cut_by_a_full_disk_is_recovered_when_there_is_room(steno: Steno, small_disk: Path) -> None:
    steno("run", "--no-git", "--store", str(small_disk / "runs"), "--", "sh", "-c", "yes | head -c 40000000")
    run = only_run(small_disk / "runs")
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    done = steno("recover", str(run.path))
    assert done.returncode == 0, done.stderr
    assert "stream_lost" in run.verdict().gaps
    assert run.verdict().exit_code == 3


@root_may_mount
def test_a_disk_that_is_full_from_the_start_stops_before_the_command_runs(
    steno: Steno, small_disk: Path, tmp_path: Path
) -> None:
    room = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
    done = steno("run", "--no-git", "--store", str(small_disk / "runs"), "--", "touch", str(tmp_path / "ran"))
    assert_clear(done, 125, "No space left on device")
    assert not (tmp_path / "ran").exists()
    assert list((small_disk / "runs").iterdir()) == []


# What a command may do to its own record where nobody refuses it, and what is left of its output.
_LOSING = {
    "emptied": ('find "$spool" -type f | while read -r file; do : >"$file"; done', b"after\n"),
    "its stream emptied": ('for file in "$spool"/evidence/terminal/stdout; do : >"$file"; done', b"after\n"),
    "its index emptied": (
        'for file in "$spool"/evidence/terminal/*.idx; do : >"$file"; done',
        b"before\nafter\n",
    ),
    "written into": (
        'for file in "$spool"/evidence/*/* "$spool"/evidence/*.ndjson; do echo x >>"$file"; done',
        b"before\nx\nafter\n",
    ),
}


@pytest.mark.parametrize("how", _LOSING)
def test_a_record_that_the_command_changed_is_no_invalid_one_and_says_so(
    steno: Steno, store: Path, how: str
) -> None:
    script, left = _LOSING[how]
    told = 'spool=$(echo "$STENO_HOME"/*/spool); until [ -s "$spool/evidence/terminal/stdout" ]; do :; done'
    words = ["sh", "-c", f"echo before; {told}; {script}; echo after"]
    done = steno("run", "--no-git", "--observer", "none", "--pty", "never", "--", *words)
    assert done.stdout == b"before\nafter\n"
    run = only_run(store)
    assert run.verdict().status is Status.INCOMPLETE
    assert {"stream_lost", "store_changed"} & set(run.verdict().gaps)
    assert b"the record has a gap: " in done.stderr
    assert run.stream("stdout") == left


def test_a_run_that_could_not_be_sealed_does_not_look_like_success() -> None:
    outcome = Outcome("id", Path("/nowhere"), 0, None, [], None, "it could not be sealed", None, 0)
    assert outcome.exits_with == 125
    assert outcome._replace(exit_code=3).exits_with == 3
    assert outcome._replace(seal_failure=None).exits_with == 0


def test_a_current_directory_that_is_gone_is_said(clean_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = f"cd gone && rmdir ../gone && exec {PROGRAM} run -- true"
    assert_clear(_as_user(["sh", "-c", script], tmp_path, clean_env), 125, "does not exist any more")


def test_an_export_that_fails_keeps_the_commands_exit_code(steno: Steno, store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = steno("run", "--no-git", "--export", "capture-run:file", "--", "sh", "-c", "exit 7")
    assert_clear(done, 7, "not exported")
    assert only_run(store).is_valid


def test_memory_stays_flat_while_much_is_written(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    size = 150 * MIB
    peak = _peak_kib(
        ["sh", "-c", f"yes 'a line of ordinary length, with words in it' | head -c {size}"],
        clean_env,
        tmp_path,
    )
    assert peak < MEMORY_KIB
    run = only_run(store)
    assert (run.path / layout.STDOUT).stat().st_size == size
    with open_run(run.path) as found:
        assert hashes(found)["stdout_tail_hash"] != hashes(found)["stderr_tail_hash"]


@pytest.mark.soak
def test_a_gigabyte_leaves_memory_flat_and_the_tail_right(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    size = 1 << 30
    script = f"yes 'a line of ordinary length' | head -c {size}; printf 'the very end'"
    assert _peak_kib(["sh", "-c", script], clean_env, tmp_path) < MEMORY_KIB
    run = only_run(store)
    recorded = run.path / layout.STDOUT
    assert recorded.stat().st_size == size + len("the very end")
    with recorded.open("rb") as file:
        file.seek(-4000, os.SEEK_END)
        tail = file.read()
    assert tail.endswith(b"the very end")
    with open_run(run.path) as found:
        assert hashes(found)["stdout_tail_hash"] == hashlib.sha256(tail).hexdigest()
    assert run.is_valid


def test_a_line_of_a_hundred_megabytes_is_recorded_whole(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    peak = _peak_kib(["sh", "-c", "head -c 100000000 /dev/zero | tr '\\0' x"], clean_env, tmp_path)
    assert peak < MEMORY_KIB
    assert (only_run(store).path / layout.STDOUT).stat().st_size == 100_000_000


def test_a_bundle_of_the_users_own_is_not_overwritten_by_a_second_run(steno: Steno, store: Path) -> None:
    for _ in range(3):
        steno("run", "--no-git", "--", "true")
    assert len({run.path.name for run in runs(store)}) == 3


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="becoming another user needs root and setpriv",
)
def test_an_ordinary_user_can_record_and_verify(tmp_path: Path, clean_env: dict[str, str]) -> None:
    place = Path("/tmp") / f"steno-user-{os.getpid()}"  # below tmp_path nobody else may look
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    env = {**clean_env, "HOME": str(place), "STENO_HOME": str(place / "runs"), "PYTHONDONTWRITEBYTECODE": "1"}
    program = [sys.executable, "-m", "steno"]
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    try:
        if _as_user([*as_nobody, *program, "--version"], place, env).returncode:
            pytest.skip("other users cannot run the tests' interpreter, or they are not run by root")
        done = _as_user([*as_nobody, *program, "run", "--", "sh", "-c", "id -u; exit 3"], place, env)
        assert (done.returncode, done.stdout) == (3, b"65534\n")
        assert _as_user([*as_nobody, *program, "verify", "@last"], place, env).returncode == 0
        blocked = _as_user([*as_nobody, *program, "run", "--store", "/root/x", "--", "true"], place, env)
        assert_clear(blocked, 125, "store")
        homeless = _as_user(
            [*as_nobody, *program, "run", "--no-git", "--", "sh", "-c", "exit 4"],
            place,
            {**env, "HOME": "/nonexistent"},
        )
        assert homeless.returncode == 4
        assert b"the default list of ignored paths was used" in homeless.stderr
    finally:
        shutil.rmtree(place)


def _as_user(words: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL
    )


def _peak_kib(command: list[str], env: dict[str, str], cwd: Path) -> int:
    """The most memory the recorder had, by the kernel's mark; not what its parent had before exec."""
    process = subprocess.Popen(
        [PROGRAM, "run", "--no-git", "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd=cwd,
        env=env,
    )
    status = Path(f"/proc/{process.pid}/status")
    peak = 0
    while process.poll() is None:
        marks = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        peak = max([peak, *(int(mark.split()[1]) for mark in marks)])
    assert process.returncode == 0
    assert peak > 0
    return peak
