"""Steno's own hooks are counted apart from what a run did, and nobody hides behind their name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import steno as library
from steno.model.run import Run
from support.observers import ALL, observers
from support.program import PROGRAM, Steno

HOOK = f"{PROGRAM} hook claude"
EVENT = (
    '{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{}}'
)
CALLED = f"echo '{EVENT}' | sh -c '{HOOK}'\n"


def record(steno: Steno, observer: str, script: str, cwd: Path, **more: str) -> None:
    (cwd / "script").write_text(script)
    done = steno(
        *("run", "--no-git", "--observer", observer, "--", "bash", "script"),
        cwd=cwd,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **more},
    )
    assert done.returncode == 0, done.stderr


def opened(store: Path) -> Run:
    return library.open(next(iter(sorted(store.glob("2*"), reverse=True))))


def roles(store: Path) -> list[str]:
    with opened(store) as run:
        return [process.role for process in run.processes]


def told(steno: Steno, *words: str) -> Any:
    done = steno(*words, "@last", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=observers(ALL))
def observer(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def test_hooks_are_counted_apart_and_are_in_no_answer(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    record(steno, observer, f"echo made >made\n{CALLED * 3}", tmp_path)
    kernel = told(steno, "show")["kernel"]
    assert kernel["hook_processes"] == 6  # a shell and its hook each
    with opened(store) as run:
        ours = {process.process for process in run.processes if process.role == "steno"}
        assert len(ours) == 6
        assert kernel["processes"] == len(run.processes) - 6
        assert [process.role for process in run.processes if process.parent is None] == ["agent"]
        assert not any("python" in file.path for file in run.files)
        assert not any(access.process in ours for access in run.accesses)
        assert any(event.process in ours for event in run.events)
    assert (
        f"{kernel['processes']} processes, and 6 of Steno's hooks" in steno("show", "@last").stdout.decode()
    )
    assert "hook claude" not in steno("tree", "@last").stdout.decode()
    assert steno("tree", "@last").stdout.decode().endswith("and 6 processes of Steno's hooks\n")
    assert steno("tree", "@last", "--all").stdout.decode().count("hook claude") == 6
    assert "hook claude" not in steno("events", "@last").stdout.decode()
    assert steno("events", "@last", "--all").stdout.decode().count("sh -c") == 3
    assert f"{PROGRAM}" not in json.dumps(told(steno, "surface"))
    assert steno("verify", "@last").returncode == 0


def test_a_shell_that_does_more_than_call_the_hook_is_the_runs(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    (tmp_path / "precious").touch()
    record(steno, "auto", f"echo '{EVENT}' | sh -c '{HOOK}; rm precious'", tmp_path)
    with opened(store) as run:
        (deleted,) = (file for file in run.files if file.path.endswith("/precious"))
        assert deleted.change == "deleted"
        assert [one.role for one in run.processes].count("steno") == 1


def test_a_program_that_calls_itself_steno_is_the_runs(steno: Steno, store: Path, tmp_path: Path) -> None:
    false = tmp_path / "steno"
    false.write_text("#!/bin/sh\ncat /etc/hostname >/dev/null\n")
    false.chmod(0o755)
    record(
        steno,
        "auto",
        f"{CALLED}sh -c '{false} hook claude'; (exec -a {PROGRAM} {false} hook claude)",
        tmp_path,
    )
    with opened(store) as run:
        ours = {process.process for process in run.processes if process.role == "steno"}
        assert len(ours) == 2
        assert any(file.path == "/etc/hostname" for file in run.files)
        assert any(false.name in (one.command or "") for one in run.processes if one.process not in ours)


@pytest.mark.parametrize(
    "deed",
    [
        "open('/etc/hostname').read()",
        "open('made', 'w')",
        "import os; os.fork() or os._exit(0)",
        "import subprocess; subprocess.run(['true'])",
        "import socket; socket.socket().bind(('127.0.0.1', 0))",
        "import os; os.kill(os.getpid(), 0)",
    ],
)
def test_our_own_program_that_was_made_to_do_more_is_the_runs(
    steno: Steno, store: Path, tmp_path: Path, deed: str
) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "sitecustomize.py").write_text(f"{deed}\n")
    record(steno, "auto", f"{CALLED}PYTHONPATH={planted} sh -c '{CALLED}'", tmp_path)
    assert roles(store).count("steno") == 2


def test_the_command_of_a_run_is_never_ours(steno: Steno, store: Path, tmp_path: Path) -> None:
    done = steno("run", "--no-git", "--", PROGRAM, "hook", "claude", input=EVENT.encode())
    assert done.returncode == 0
    assert roles(store) == ["command"]
