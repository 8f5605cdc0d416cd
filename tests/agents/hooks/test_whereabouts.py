"""Which process asked for a hook, and which places are in memory."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from steno.hooks.program import find_agent_pid, is_in_memory


@pytest.fixture
def hook(tmp_path: Path) -> str:
    """One command, as an agent's settings have it, that says who asked."""
    script = tmp_path / "ask.py"
    script.write_text("from steno.hooks.program import find_agent_pid\nprint(find_agent_pid('claude'))\n")
    return shlex.join([sys.executable, str(script), "hook", "claude"])


def asked(*words: str) -> int:
    done = subprocess.run(words, capture_output=True, check=True, timeout=60)
    return int(done.stdout)


def test_without_a_shell_it_is_the_parent(hook: str) -> None:
    assert asked(*shlex.split(hook)) == os.getpid()
    assert find_agent_pid("claude") == os.getppid()


def test_a_shell_that_gave_its_place_to_the_hook_is_no_shell_any_more(hook: str) -> None:
    assert asked("sh", "-c", hook) == os.getpid()


@pytest.mark.parametrize(
    "shell", [("bash", "-c"), ("bash", "-lc"), ("bash", "-e", "-c"), ("/bin/bash", "-ec")]
)
def test_a_shell_for_the_hook_alone_is_passed_over(hook: str, shell: tuple[str, ...]) -> None:
    assert asked(*shell, f"time -p {hook}") == os.getpid()  # a shell that measures stays


def test_several_shells_for_the_hook_alone_are_passed_over(hook: str) -> None:
    inner = shlex.join(["bash", "-c", f"time -p {hook}"])
    assert asked("bash", "-c", f"time -p {inner}") == os.getpid()


@pytest.mark.parametrize("text", ["{}; true", "true && {}", "echo | {}", "time -p true\n{}"])
def test_a_shell_that_does_more_is_the_one_that_asked(hook: str, text: str) -> None:
    assert asked("bash", "-c", text.format(hook) + "; true") != os.getpid()


def test_memory_is_told_from_disk(tmp_path: Path) -> None:
    assert is_in_memory("/dev/shm")
    assert not is_in_memory("/proc")
    assert not is_in_memory(str(tmp_path / "nowhere"))
