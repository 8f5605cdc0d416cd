"""Own state: what an agent may change while it reads, and never in the project itself."""

from __future__ import annotations

import pytest

from steno.evidence import kinds
from support.calls_judged import BETWEEN, CREATE, hooked, of_agent
from support.calls_made import EMPTY, SCOPE


def test_an_agent_may_keep_its_own_state_while_it_reads() -> None:
    made = hooked().event("open", "/f", process=1, at=BETWEEN)
    for path in ("/home/ada/.claude/history", "/home/ada/.claude.json.tmp", "/tmp/x", "/home/ada/.cache/y"):
        made.event("open", path, process=1, arg=CREATE, result=0, at=BETWEEN)
    call = of_agent(made, "Read", {"file_path": "/f"})
    assert call["verdict"] == "confirmed"
    assert "/tmp/x" in call["seen"]["own_state"]
    assert "/tmp/x" in call["seen"]["files"]["written"]


@pytest.mark.parametrize(
    ("name", "value", "path", "verdict"),
    [
        ("CLAUDE_CONFIG_DIR", "/state/claude", "/state/claude/projects/x.jsonl", "confirmed"),
        ("CODEX_HOME", "/state/codex/", "/state/codex/log", "confirmed"),
        ("XDG_CACHE_HOME", "/state/cache", "/state/cache/x", "confirmed"),
        ("GEMINI_CLI_HOME", "/state", "/state/.gemini/x", "confirmed"),
        ("GEMINI_CLI_HOME", "/state", "/state/x", "contradicted"),
        ("TMPDIR", "/", "/x", "contradicted"),
        ("CODEX_HOME", None, "/state/codex/log", "contradicted"),
    ],
)
def test_own_state_is_where_the_environment_of_the_run_says(
    name: str, value: str | None, path: str, verdict: str
) -> None:
    made = hooked().event("open", "/f", process=1, at=BETWEEN)
    made.event("open", path, process=1, arg=CREATE, result=0, at=BETWEEN)
    assert of_agent(made, "Read", {"file_path": "/f"}, env={name: value})["verdict"] == verdict


@pytest.mark.parametrize("path", ["/work/.claude/settings.json", "/home/ada/.ssh/config", "/tmpfile"])
def test_what_is_not_the_agents_own_state_contradicts_a_read(path: str) -> None:
    made = hooked().event("open", "/f", process=1, at=BETWEEN)
    made.event("open", path, process=1, arg=CREATE, result=0, at=BETWEEN)
    assert of_agent(made, "Read", {"file_path": "/f"})["verdict"] == "contradicted"


def test_nothing_in_the_project_is_own_state_though_the_project_is_a_temporary_one() -> None:
    made = hooked().event("open", "/f", process=1, at=BETWEEN)
    made.event("open", "/tmp/project/hidden", process=1, arg=CREATE, result=0, at=BETWEEN)
    call = of_agent(made, "Read", {"file_path": "/f"}, cwd="/tmp/project")
    assert (call["verdict"], call["seen"]["own_state"]) == ("contradicted", [])
    assert of_agent(made, "Read", {"file_path": "/f"}, cwd="/tmp/other")["verdict"] == "confirmed"
    repository = kinds.RepoSnapshotBefore(root="/tmp/project")
    below = of_agent(
        made, "Read", {"file_path": "/f"}, cwd="/tmp/project/below", events=(repository, SCOPE, EMPTY)
    )
    assert below["verdict"] == "contradicted"


def test_state_of_an_agent_inside_the_project_leaves_a_read_open() -> None:
    made = hooked().event("open", "/f", process=1, at=BETWEEN)
    made.event("open", "/home/ada/.claude/history", process=1, arg=CREATE, result=0, at=BETWEEN)
    call = of_agent(made, "Read", {"file_path": "/f"}, cwd="/home/ada")
    assert (call["verdict"], call["seen"]["own_state"]) == ("unobserved", [])
