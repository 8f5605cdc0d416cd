"""Installed without a C compiler, Steno records, and every command says that the kernel was not observed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import steno
from steno.capture.observer import WHY_NOT
from support.program import SECONDS

Command = Callable[..., "subprocess.CompletedProcess[str]"]
REASON = "no C compiler found"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Steno as pip leaves it where nothing could be compiled, after one run."""
    base = tmp_path_factory.mktemp("installed")
    package = base / "site" / "steno"
    shutil.copytree(
        Path(steno.__file__).parent, package, ignore=shutil.ignore_patterns("native", "__pycache__")
    )
    (package / "native").mkdir()
    (package / "native" / WHY_NOT).write_text(f"steno-trace: {REASON} ($CC, cc)\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(base), "PYTHONPATH": str(base / "site")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        whole = [sys.executable, "-P", "-m", "steno", *words]
        return subprocess.run(
            whole, env=env, cwd=base, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    return run


@pytest.fixture(scope="module")
def recorded(command: Command) -> subprocess.CompletedProcess[str]:
    return command("run", "--no-git", "--", "true")


def test_run_warns_and_says_what_to_install(recorded: subprocess.CompletedProcess[str]) -> None:
    assert recorded.returncode == 0
    assert "WARNING: no kernel layer: files, processes and connections were NOT recorded" in recorded.stderr
    assert REASON in recorded.stderr
    assert "hint: apt install gcc libc6-dev" in recorded.stderr


@pytest.mark.usefixtures("recorded")
def test_show_does_not_call_such_a_record_complete(command: Command) -> None:
    shown = command("show", "@last").stdout
    assert "the kernel was NOT OBSERVED" in shown
    assert "sealed, complete" not in shown
    assert (
        "kernel_layer_absent:not_installed"
        in json.loads(command("show", "@last", "--json").stdout)["health"]["notes"]
    )


@pytest.mark.usefixtures("recorded")
def test_the_record_verifies_and_files_says_why_there_are_none(command: Command) -> None:
    assert command("verify", "@last").returncode == 0
    asked = command("files", "@last")
    assert asked.returncode != 0
    assert REASON in asked.stderr


def test_doctor_fails_and_says_what_to_install(command: Command) -> None:
    asked = command("doctor")
    assert asked.returncode == 1
    assert "files, processes and connections are NOT recorded" in asked.stdout
    assert "apt install gcc libc6-dev" in asked.stdout
    told = json.loads(command("doctor", "--json").stdout)
    assert told["recording_works"] is True
    assert told["observers"]["notify"] == "not_installed"


def test_an_observer_that_was_chosen_to_be_none_is_no_trouble(command: Command) -> None:
    chosen = command("run", "--no-git", "--observer", "none", "--", "true")
    assert (chosen.returncode, chosen.stderr) == (0, "")
    assert "sealed, complete" in command("show", "@last").stdout
