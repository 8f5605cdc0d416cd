"""The recorder is killed while the command runs: the command goes on, and so does the kernel's record."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from steno.bundle.store import RunState
from steno.evidence import layout
from steno.report.overview import subject_of
from support.observer_processes import observer_processes
from support.reading import opened
from support.recorded import only_run
from support.screen import Screen
from support.sought import assert_nowhere
from support.waiting import until

STENO = str(Path(sys.executable).parent / "steno")
SPOOLED_STDIN = f"*/{layout.SPOOL}/{layout.STDIN}"
SCRIPT = "echo first; until test -e go; do sleep 0.05; done; echo second; cat /etc/hostname; echo done >last"


def recovered(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([STENO, "recover", "@last"], env=env, capture_output=True, text=True, check=False)


def check_the_record(env: dict[str, str], store: Path) -> None:
    until(lambda: recovered(env).returncode == 0)
    run = only_run(store)
    assert run.verdict().exit_code == 3
    assert set(run.verdict().gaps) >= {"recorder_killed", "after_unknown"}
    assert run.json("run.json")["duration_ns"] >= run.json("processes.json")["processes"][0]["ended_ns"]
    (shell,) = [one for one in run.json("processes.json")["processes"] if one["parent"] == 0]
    assert shell["exit"] == {"code": 0}
    assert any(one["path"].endswith("/last") for one in run.json("files.json")["files"])


def test_through_pipes_the_command_ends_as_it_would(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    words = [STENO, "run", "--no-git", "--", "sh", "-c", SCRIPT]
    with subprocess.Popen(words, env=clean_env, cwd=tmp_path, stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"first\n"
        recorder.kill()
    (tmp_path / "go").touch()
    until((tmp_path / "last").exists)
    check_the_record(clean_env, store)


def test_on_a_terminal_the_command_ends_as_it_would(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen([STENO, "run", "--no-git", "--", "sh", "-c", SCRIPT], clean_env, tmp_path)
    screen.see("first\r\n")
    screen.signal(signal.SIGKILL)
    (tmp_path / "go").touch()
    until((tmp_path / "last").exists)
    check_the_record(clean_env, store)


def test_as_long_as_the_command_runs_its_recorder_is_said_to_be_gone_and_the_kernel_is_watched(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    words = [STENO, "run", "--no-git", "--", "sh", "-c", SCRIPT]
    with subprocess.Popen(words, env=clean_env, cwd=tmp_path, stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"first\n"
        recorder.kill()
    assert "is gone, but its command goes on and the kernel is still watched" in recovered(clean_env).stderr
    with opened(next(store.glob("*Z_*"))) as run:
        assert run.state is RunState.ORPHANED
        found = subject_of(run)
    assert found.summary
    assert found.summary["health"]["steno"]["kernel_layer"] == "so far"
    (tmp_path / "go").touch()
    check_the_record(clean_env, store)


@pytest.mark.parametrize("reader", ["head -c1", "true"])
def test_a_reader_that_goes_away_still_ends_the_command(
    clean_env: dict[str, str], tmp_path: Path, reader: str
) -> None:
    line = f"{STENO} run --no-git -- sh -c 'trap \"\" HUP; yes; echo $? >code' | {reader}"
    done = subprocess.run(["bash", "-c", line], env=clean_env, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 0


def test_recovery_goes_by_what_the_run_knew_its_typed_secrets_its_largest_content_its_ignored_paths(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    config = tmp_path / "config" / "agent-snapshot" / "ignore.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps([str(tmp_path / "ignored")]))
    (tmp_path / "ignored").write_bytes(b"of no interest")
    (tmp_path / "big").write_bytes(bytes(17 << 20))
    script = (
        "read -s -p word: p; echo; until test -e go; do sleep 0.05; done;"
        ' /bin/echo "$p" >/dev/null; rm big ignored; touch last'
    )
    words = [
        STENO,
        "run",
        "--no-git",
        "--observer",
        "notify",
        "--max-blob",
        str(20 << 20),
        "--",
        "bash",
        "-c",
        script,
    ]
    env = {**clean_env, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    screen = Screen(words, env, tmp_path)
    screen.see("word:")
    screen.line("correct-horse-battery")
    screen.see("\r\n")
    until(lambda: b"*" * 21 in next(store.glob(SPOOLED_STDIN)).read_bytes())
    screen.signal(signal.SIGKILL)
    (tmp_path / "go").touch()
    until((tmp_path / "last").exists)
    until(lambda: recovered(clean_env).returncode == 0)
    run = only_run(store)
    assert ["/bin/echo", "[REDACTED:known-value:21]"] in [
        one["argv"] for process in run.json("processes.json")["processes"] for one in process["execs"]
    ]
    files = {Path(one["path"]).name: one for one in run.json("files.json")["files"]}
    assert files["big"]["before"]["blob"]
    assert "ignored" not in files


@pytest.mark.parametrize("killed", ["recorder", "observer", "both"])
def test_what_was_typed_without_echo_is_nowhere_whoever_is_killed(
    clean_env: dict[str, str], tmp_path: Path, store: Path, killed: str
) -> None:
    secret = "correct-horse-battery"
    script = (
        'read -s -p word: p; echo; /bin/echo "$p" >/dev/null; echo told;'
        " until test -e go; do sleep 0.05; done"
    )
    words = [STENO, "run", "--no-git", "--observer", "notify", "--", "bash", "-c", script]
    screen = Screen(words, clean_env, tmp_path)
    screen.see("word:")
    screen.line(secret)
    screen.see("told\r\n")
    until(lambda: b"*" * len(secret) in next(store.glob(SPOOLED_STDIN)).read_bytes())
    observing = observer_processes(screen.pid) if killed != "recorder" else []
    assert observing or killed == "recorder"
    if killed != "observer":
        screen.signal(signal.SIGKILL)
    for process in observing:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    assert_nowhere([secret], store)
    (tmp_path / "go").touch()
    until(lambda: recovered(clean_env).returncode == 0 or any(store.glob(f"*/{layout.MANIFEST}")))
    assert_nowhere([secret], store)
    assert only_run(store).verdict().status in {"incomplete", "valid"}
    assert any(
        "[REDACTED:known-value:21]" in str(process)
        for process in only_run(store).json("processes.json")["processes"]
    )
