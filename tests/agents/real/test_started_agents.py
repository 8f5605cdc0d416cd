"""Claude Code, Codex, Gemini CLI and opencode, started and continued by `steno agent`: what attempts leave.

The agents are the real ones; only the model is a script, which edits a file, runs a command, reads another
through an MCP server behind a policy, gives the key away, and says that it is done as its skill asks. All but
opencode also have hooks. Each agent is started and resumed once a module.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from steno.evidence import layout
from support.machine import FILESYSTEM_SERVER
from support.program import PROGRAM, SECONDS
from support.real_agents import (
    AWAIT_SERVERS,
    CLAUDE,
    CODEX,
    GEMINI,
    OPENCODE,
    codex_config,
    codex_servers,
    environment,
    gemini_config,
    needs,
    opencode_config,
)
from support.recorded import Recorded, runs
from support.scripted_models import GeminiModel, MessagesModel, ResponsesModel, Say, ScriptedModel, Turn, Use
from support.sought import files_of
from support.stand_in_agent import Attempt, Started

KEY = "sk-scripted-8c1f0a5be2d94c7f9a36"
PROMPT = "Make the files."
DONE_SIGNAL = (
    'AGENT_ENV_DONE {"version":"1","state":"completed","skill":"making","result_kind":"none",'
    '"needs_user_input":false,"reason_code":"FILES_MADE"}'
)
LAST_WORDS = Say(f"All is done with {KEY}.\n\n{DONE_SIGNAL}")
EDITED, RUN = "edited.txt", "made.txt"
SKILL = """\
---
name: making
description: How to make files.
---
Make what is asked for.
"""
POLICY = """\
version: 1
default: deny
rules:
  - tools: ["read_*"]
    action: allow
"""


class Worked(NamedTuple):
    name: str
    agent: Started
    first: Attempt
    left: dict[str, bytes]  # what the first attempt left, before there was a second
    second: Attempt
    run: Recorded  # of the first
    asked: str  # what the model was sent


def claude_script(notes: Path) -> Sequence[Turn]:
    return [
        Use("call_write", "Write", {"file_path": EDITED, "content": "edited\n"}),
        Use("call_shell", "Bash", {"command": f"echo hello > {RUN}", "description": "Make a file"}),
        Use("call_read", "mcp__files__read_text_file", {"path": str(notes)}),
        LAST_WORDS,
    ]


def codex_script(notes: Path) -> Sequence[Turn]:
    return [
        Use("call_edit", "exec_command", {"cmd": f"echo edited > {EDITED}"}),
        Use("call_shell", "exec_command", {"cmd": f"echo hello > {RUN}"}),
        Use("call_read", "read_text_file", {"path": str(notes)}, "mcp__files"),
        LAST_WORDS,
    ]


def gemini_script(notes: Path) -> Sequence[Turn]:
    return [
        Use("call_edit", "write_file", {"file_path": EDITED, "content": "edited\n"}),
        Use("call_shell", "run_shell_command", {"command": f"echo hello > {RUN}"}),
        Use("call_read", "mcp_files_read_text_file", {"path": str(notes)}),
        LAST_WORDS,
    ]


def opencode_script(notes: Path) -> Sequence[Turn]:
    return [
        Use("call_edit", "write", {"filePath": EDITED, "content": "edited\n"}),
        Use("call_shell", "bash", {"command": f"echo hello > {RUN}", "description": "Make a file"}),
        Use("call_read", "files_read_text_file", {"path": str(notes)}),
        LAST_WORDS,
    ]


def claude_settings(home: Path, url: str, server: list[str]) -> dict[str, str]:
    listed = {"files": {"command": server[0], "args": server[1:]}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": listed}))
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, **AWAIT_SERVERS}


def codex_settings(home: Path, url: str, server: list[str]) -> dict[str, str]:
    (home / ".codex").mkdir()
    config = codex_config(url, "OPENAI_API_KEY") + codex_servers({"files": server})
    (home / ".codex" / "config.toml").write_text(config)
    return {"OPENAI_API_KEY": KEY}


def gemini_settings(home: Path, url: str, server: list[str]) -> dict[str, str]:
    (home / ".gemini").mkdir()
    servers = {"files": {"command": server[0], "args": server[1:]}}
    (home / ".gemini" / "settings.json").write_text(gemini_config(servers))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY, "GEMINI_MODEL": "gemini-2.5-flash"}


def opencode_settings(home: Path, url: str, server: list[str]) -> dict[str, str]:
    place = home / ".config" / "opencode"
    place.mkdir(parents=True)
    servers = {"files": {"type": "local", "command": server, "enabled": True, "timeout": 60_000}}
    (place / "opencode.json").write_text(opencode_config(url, "ANTHROPIC_API_KEY", servers))
    # Its list of models and a package for plugins come from the network, unless it is told another place:
    # ours has neither, and it goes on without them.
    (home / ".npmrc").write_text(f"registry={url}/\n")
    return {"ANTHROPIC_API_KEY": KEY, "OPENCODE_MODELS_URL": url}


class Kind(NamedTuple):
    model: type[ScriptedModel]
    script: Callable[[Path], Sequence[Turn]]
    set_up: Callable[[Path, str, list[str]], dict[str, str]]
    arguments: list[str]
    settings: str  # the file with its servers
    skill: str  # where its skill is put
    has_hooks: bool = True


KINDS = {
    "claude": Kind(
        MessagesModel,
        claude_script,
        claude_settings,
        ["--allowedTools", "Bash,Write,mcp__files"],
        ".claude.json",
        ".claude/skills/making/SKILL.md",
    ),
    "codex": Kind(
        ResponsesModel,
        codex_script,
        codex_settings,
        [],
        ".codex/config.toml",
        ".agents/skills/making/SKILL.md",
    ),
    "gemini": Kind(
        GeminiModel,
        gemini_script,
        gemini_settings,
        ["--yolo"],
        ".gemini/settings.json",
        ".gemini/skills/making/SKILL.md",
    ),
    "opencode": Kind(
        MessagesModel,
        opencode_script,
        opencode_settings,
        [],
        ".config/opencode/opencode.json",
        ".agents/skills/making/SKILL.md",
        has_hooks=False,
    ),
}
TELL_THEIR_IDS = {"claude", "codex"}  # of calls, to the servers
AGENTS = [
    pytest.param("claude", marks=needs(CLAUDE, FILESYSTEM_SERVER)),
    pytest.param("codex", marks=needs(CODEX, FILESYSTEM_SERVER)),
    pytest.param("gemini", marks=needs(GEMINI, FILESYSTEM_SERVER)),
    pytest.param("opencode", marks=needs(OPENCODE, FILESYSTEM_SERVER)),
]


@pytest.fixture(scope="module", params=AGENTS)
def worked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    name, kind = request.param, KINDS[request.param]
    home = tmp_path_factory.mktemp(name)
    agent = Started(home, environment(home))
    (agent.root / "home").mkdir(parents=True)
    notes = home / "notes" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("what the tool reads\n")
    (home / "policy.yaml").write_text(POLICY)
    (home / "skills" / "making").mkdir(parents=True)
    (home / "skills" / "making" / "SKILL.md").write_text(SKILL)
    with kind.model(kind.script(notes)) as model:
        server = ["node", str(FILESYSTEM_SERVER), str(notes.parent)]
        agent.env.update(kind.set_up(agent.root / "home", model.url, server))
        asked = ["--skills", str(home / "skills"), "--policy", str(home / "policy.yaml")]
        asked += ["--hooks"] if kind.has_hooks else []
        first = agent.attempt("start", *asked, name, PROMPT, "--", *kind.arguments)
        left = audit_files(first)
        second = agent.attempt("resume", first.run_dir.name, "And once more.", "--", *kind.arguments)
    return Worked(name, agent, first, left, second, runs(home / "records")[0], json.dumps(model.requests))


def audit_files(attempt: Attempt) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (attempt.run_dir / ".audit").iterdir()}


def everything_below(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def test_the_agent_does_its_work_on_a_terminal(worked: Worked) -> None:
    assert worked.first.done.returncode == 0, worked.first.done
    assert b"stdin is not a terminal" not in worked.first.log("pty-output")
    assert (worked.first.run_dir / EDITED).read_text() == "edited\n"
    assert (worked.first.run_dir / RUN).read_text() == "hello\n"


def test_it_is_completed_as_its_skill_asks(worked: Worked) -> None:
    for attempt in (worked.first, worked.second):
        assert (attempt.completion["state"], attempt.completion["reasonCode"]) == ("completed", "FILES_MADE")
    assert "AGENT_ENV_DONE" in (worked.first.run_dir / KINDS[worked.name].skill).read_text()
    assert "How to make files." in worked.asked, "the agent offers the skill to the model"


def test_its_session_is_found_and_continued(worked: Worked) -> None:
    first, second = (made.meta["interactive"]["session"] for made in (worked.first, worked.second))
    assert worked.second.done.returncode == 0, worked.second.done
    assert first["source"] == "stdout"
    assert second["value"] == first["value"]
    assert any(first["value"] in word for word in worked.second.meta["launch"]["args"])


def test_the_second_attempt_leaves_the_first_as_it_is(worked: Worked) -> None:
    assert (worked.first.number, worked.second.number) == (1, 2)
    assert worked.left.items() <= audit_files(worked.second).items()


def test_its_streams_are_split_and_can_be_rebuilt_from_the_trace(worked: Worked, tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    assert worked.agent.steno("reconstruct", worked.first.file("fd-trace"), out, err).returncode == 0
    assert worked.first.meta["runtime"]["traceSource"] == "split"
    assert out.read_bytes() == worked.first.log("stdout") != b""
    assert err.read_bytes() == worked.first.log("stderr")
    assert all(json.loads(line) for line in worked.first.log("stdout").splitlines() if line.startswith(b"{"))


def test_exactly_the_files_that_it_made_are_in_the_diff(worked: Worked) -> None:
    made = sorted([EDITED, RUN, KINDS[worked.name].skill])
    assert worked.first.json("fs-diff") == {"created": made, "deleted": [], "modified": []}


def test_the_kernel_saw_exactly_the_files_that_the_script_asked_for(worked: Worked) -> None:
    told = subprocess.run(
        [PROGRAM, "files", worked.run.path, "--json"], capture_output=True, timeout=SECONDS, check=True
    )
    place = f"{worked.first.run_dir}/"
    changed = {entry["path"]: entry["change"] for entry in json.loads(told.stdout)["files"]}
    seen = {path.removeprefix(place): change for path, change in changed.items() if path.startswith(place)}
    assert worked.run.is_valid
    assert seen == {EDITED: "created", RUN: "created"}


# The model gives the key away in its last words, and an agent writes down for itself what was said: these
# files of its own, in its own home, have it. Nobody may mask them: the agent continues its session from them.
TRANSCRIPTS = {
    "claude": (".claude/projects/",),
    "codex": (".codex/sessions/", ".codex/thread_history_"),
    "gemini": (".gemini/tmp/",),
    "opencode": (".local/share/opencode/",),
}


def test_the_key_is_nowhere_but_in_the_transcripts_of_the_agent_itself(worked: Worked) -> None:
    own = tuple(str(worked.agent.root / "home" / place) for place in TRANSCRIPTS[worked.name])
    everything = files_of(*everything_below(worked.agent.home))
    assert [name for name, data in everything if KEY.encode() in data and not name.startswith(own)] == []
    assert b"All is done with " in worked.first.log("stdout")


def test_nothing_but_loopback_was_reached(worked: Worked) -> None:
    reached = worked.run.json(layout.SURFACE)["network_endpoints"]
    assert reached
    assert {endpoint.rpartition(":")[0] for endpoint in reached} == {"127.0.0.1"}


def test_hooks_and_policy_fill_their_layers_without_touching_the_users_home(worked: Worked) -> None:
    health = worked.run.json(layout.HEALTH)
    said = "self_reported" if KINDS[worked.name].has_hooks else "absent"
    assert (health["policy_layer"], health["sdk_layer"]) == ("present", said)
    decided = worked.run.decided
    assert [(line["tool"], line["decision"]) for line in decided] == [("read_text_file", "allow")]
    assert (decided[0]["tool_call_id"] == "call_read") is (worked.name in TELL_THEIR_IDS)
    assert b"the policy" not in worked.first.done.stderr
    assert {path.name for path in worked.agent.home.iterdir()} <= {
        ".local", ".cache", ".config", "notes", "policy.yaml", "records", "skills",
    }  # fmt: skip


def test_a_resumed_agent_has_the_policy_and_the_hooks_of_the_attempt_before(worked: Worked) -> None:
    settings = (worked.agent.root / "home" / KINDS[worked.name].settings).read_text()
    assert "policy.yaml" in settings
    assert str(FILESYSTEM_SERVER) in settings
    first, second = (made.meta["steno"] for made in (worked.first, worked.second))
    assert (second["policy"], second["hooks"]) == (first["policy"], KINDS[worked.name].has_hooks)
    assert second["policy"]["path"] == str(worked.agent.home / "policy.yaml")
