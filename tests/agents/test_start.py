"""What is refused before a run directory is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from steno.agents.known import parse_definition
from steno.errors import BadPolicyError, BadRequestError
from steno.launch import start as starting
from steno.launch.attempt import AgentCommand, LaunchOptions
from steno.launch.start import check, installed
from support.program import SECONDS

PLAIN = parse_definition(
    "plain",
    b'program = "plain"\ninstall = "make it"\n[launch]\nstart = ["{prompt}"]\nresume = ["{session}"]\n',
)


def around(root: Path) -> LaunchOptions:
    return LaunchOptions(environ={"PATH": "/nowhere"}, root=root, store=root)


def test_skills_need_a_place(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match="plain has no folder for skills"):
        check(PLAIN, around(tmp_path)._replace(skills=tmp_path), "hello")


def test_skills_are_not_put_where_steno_writes(tmp_path: Path) -> None:
    into_audit = msgspec.structs.replace(
        PLAIN, launch=msgspec.structs.replace(PLAIN.launch, skills_dir=".audit/x")
    )
    with pytest.raises(BadRequestError, match=r"skills cannot be in \.audit"):
        check(into_audit, around(tmp_path), "hello")


def test_a_home_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match="--home is empty"):
        check(PLAIN, around(tmp_path)._replace(home=""), "hello")


def test_a_policy_that_is_none_is_refused(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ndefault: perhaps\n")
    with pytest.raises(BadPolicyError, match="default is allow, ask or deny"):
        check(PLAIN, around(tmp_path)._replace(policy=policy), "hello")


def test_a_program_in_the_managed_folder_is_found_first(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match="plain is not installed"):
        installed(PLAIN, around(tmp_path))
    program = tmp_path / "bin" / "plain"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert installed(PLAIN, around(tmp_path)) == program


def test_a_program_is_not_looked_for_where_the_agent_will_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "plain").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", "", f".:{tmp_path / 'nowhere'}"):
        with pytest.raises(BadRequestError, match="plain is not installed"):
            installed(PLAIN, around(tmp_path / "root")._replace(environ={"PATH": path}))
    found = installed(PLAIN, around(tmp_path / "root")._replace(environ={"PATH": f".:{tmp_path}"}))
    assert found == tmp_path / "plain"


def test_a_session_at_the_terminal_is_shown(tmp_path: Path) -> None:
    for hidden in ({"translate": 1}, {"quiet": True}):
        with pytest.raises(BadRequestError, match="cannot be hidden"):
            check(PLAIN, around(tmp_path)._replace(**hidden), None)
    check(PLAIN, around(tmp_path), None)


def test_a_start_in_a_run_first_finishes_what_crashed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[AgentCommand] = []
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(starting, "run_attempt", lambda job, *_, **__: made.append(job))
    monkeypatch.setattr(starting, "finish_crashed", lambda _root, selector, _: [f"finished in {selector}"])
    for selector in (None, "0123abcd"):
        starting.start("codex", ["hi"], around(tmp_path), selector=selector, on_sealing=lambda _: None)
    assert [list(job.notes) for job in made] == [[], ["finished in 0123abcd"]]


def test_what_is_said_to_the_model_is_no_argument_that_brings_servers_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[AgentCommand] = []
    monkeypatch.setattr(starting, "run_attempt", lambda job, *_, **__: made.append(job))
    monkeypatch.setattr(starting, "installed", lambda *_: Path("/bin/true"))
    words = ["mcp_servers", "are", "broken", "--", "-c", "mcp_servers.x.command=y"]
    starting.start("codex", words, around(tmp_path), selector=None, on_sealing=lambda _: None)
    (job,) = made
    assert "mcp_servers are broken" in job.arguments(())
    assert [word for word in job.options if word.startswith("mcp_servers")] == ["mcp_servers.x.command=y"]


def test_what_few_starts_need_is_not_loaded_before_the_agent_is_started() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import steno.launch.start, sys; print(*sys.modules)"],
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    loaded = set(told.stdout.decode().split())
    assert {"yaml", "tomlkit", "steno.contracts.agent_audit.strace_reader"} & loaded == set()
