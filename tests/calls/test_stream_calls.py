"""Calls that nobody tells but the agent's own stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.program import Steno
from support.recorded import only_run

GOLDEN = Path(__file__).parents[1] / "agents" / "logs" / "golden"


def program(folder: Path, name: str, stream: str) -> Path:
    """A stand-in that writes what the real one wrote."""
    found = folder / name
    found.write_text(f"#!/bin/sh\ncat '{GOLDEN / stream / 'stdout'}'\n")
    found.chmod(0o755)
    return found


def calls(steno: Steno, store: Path, command: Path, *words: str) -> list[dict[str, Any]]:
    assert steno("run", "--no-git", "--observer", "none", *words, "--", str(command)).returncode == 0
    told = steno("calls", only_run(store).path.name, "--json")
    assert told.returncode == 0, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)["calls"]
    return found


@pytest.mark.parametrize(
    ("name", "stream", "tools"),
    [
        ("opencode", "opencode-tool-error", ["read"]),
        ("cline", "cline-success", ["read_files", "run_commands", "editor", "run_commands"]),
        (
            "qwen",
            "qwen-success",
            ["read_file", "run_shell_command", "edit", "run_shell_command", "read_file"],
        ),
    ],
)
def test_an_agent_without_hooks_has_the_calls_that_its_stream_tells(
    steno: Steno, store: Path, tmp_path: Path, name: str, stream: str, tools: list[str]
) -> None:
    found = calls(steno, store, program(tmp_path, name, stream))
    assert [call["tool"] for call in found] == tools
    for call in found:
        said = call["said"]
        assert (said["source"], said["id_from"], said["corroboration"]) == (name, "stream", "self_reported")
        assert [event["event_type"] for event in said["events"]] == [
            "tool_call_started",
            "tool_call_completed",
        ]
        assert call["verdict"] == "unobserved"


def test_the_stream_of_a_program_that_is_no_agent_tells_no_calls(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    assert calls(steno, store, program(tmp_path, "cat-of-mine", "opencode-tool-error")) == []


def test_who_is_not_to_be_heard_is_not_read_either(steno: Steno, store: Path, tmp_path: Path) -> None:
    command = program(tmp_path, "opencode", "opencode-tool-error")
    assert calls(steno, store, command, "--shim", "none") == []
