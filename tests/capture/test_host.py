"""Facts of the host: harmless values only, tools by their own word, remembered by their file."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from steno.capture import host
from steno.capture.host import ToolVersions, describe_environment, describe_host
from support.waiting import SECONDS, until


@pytest.fixture(autouse=True)
def _tools_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is slow is not listed; a busy machine makes them slow."""
    monkeypatch.setattr(host, "_SECONDS", SECONDS)


def tool(directory: Path, name: str, says: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\necho asked >>{directory}/asked\n{says}\n")
    path.chmod(0o755)
    return path


def versions(tmp_path: Path) -> dict[str, str]:
    return ToolVersions({"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}).collect()


def test_the_host_is_described_as_uname_does() -> None:
    host = describe_host()
    assert (host.os, host.release, host.machine, host.name) == (
        os.uname().sysname,
        os.uname().release,
        os.uname().machine,
        os.uname().nodename,
    )


def test_every_name_is_told_and_only_harmless_values() -> None:
    told = describe_environment({"TERM": "xterm", "LC_TIME": "C", "MY_TOKEN": "x", "EDITOR_SECRET": "y"})
    assert told == {"EDITOR_SECRET": None, "LC_TIME": "C", "MY_TOKEN": None, "TERM": "xterm"}


def test_a_tool_that_is_missing_is_not_listed(tmp_path: Path) -> None:
    assert versions(tmp_path) == {"python": platform.python_version()}


@pytest.mark.process
def test_a_tool_that_fails_is_not_listed(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "git", "exit 1")
    assert "git" not in versions(tmp_path)


@pytest.mark.process
def test_a_tool_is_asked_once_for_each_version_of_its_file(tmp_path: Path) -> None:
    path = tool(tmp_path / "bin", "git", "echo git version 9.9")
    assert versions(tmp_path)["git"] == versions(tmp_path)["git"] == "9.9"
    assert (tmp_path / "bin/asked").read_text() == "asked\n"
    path.write_text(path.read_text().replace("9.9", "9.10"))
    assert versions(tmp_path)["git"] == "9.10"


@pytest.mark.parametrize("entry", [".", "bin", ""])
def test_a_tool_is_not_looked_for_beside_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    tool(tmp_path / "bin", "git", "echo git version 9.9")
    monkeypatch.chdir(tmp_path if entry == "bin" else tmp_path / "bin")
    assert "git" not in ToolVersions({"PATH": entry, "HOME": str(tmp_path)}).collect()
    assert not (tmp_path / "bin/asked").exists()


def test_a_tool_is_not_taken_from_where_every_user_may_put_one(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "git", "echo git version 9.9").parent.chmod(0o1777)
    assert "git" not in versions(tmp_path)


@pytest.mark.process
def test_a_tool_that_hangs_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(tmp_path / "bin", "git", "sleep 600 & echo $! >$0.pid; wait")
    asked = ToolVersions({"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)})
    until((tmp_path / "bin/git.pid").exists)
    until(lambda: bool((tmp_path / "bin/git.pid").read_text()))
    monkeypatch.setattr(host, "_SECONDS", 0.0)
    assert "git" not in asked.collect()
    until(lambda: not is_running(int((tmp_path / "bin/git.pid").read_text())))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.process
def test_a_broken_memory_is_no_harm(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "git", "echo git version 9.9")
    (tmp_path / ".cache/steno").mkdir(parents=True)
    (tmp_path / ".cache/steno/tool-versions.json").write_bytes(b"\xff{]")
    assert versions(tmp_path)["git"] == "9.9"


@pytest.mark.process
def test_a_home_that_cannot_be_written_is_no_harm(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "git", "echo git version 9.9")
    (tmp_path / ".cache").write_bytes(b"a file, where a directory should be")
    assert versions(tmp_path)["git"] == "9.9"
