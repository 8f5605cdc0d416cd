"""Claude Code and Codex, recorded: what they said, what policy decided and what the kernel saw, call by call.

The agents are the real ones; only the model is a script. An agent is recorded once, and makes all its calls
in that run: one of its shell, one of the real filesystem server, one that policy denies, one of a server that
says of its tool that it only reads, and writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steno.evidence import layout
from support.machine import FILESYSTEM_SERVER, a_cgroup_can_be_made
from support.program import PROGRAM, SECONDS
from support.real_agents import CLAUDE, CODEX, Agent, Place, Servers, claude, codex, needs
from support.recorded import Recorded, only_run
from support.scripted_models import MessagesModel, ResponsesModel, Say, ScriptedModel, Turn, Use

LYING_SERVER = Path(__file__).parents[2] / "workloads" / "lying-mcp-server.py"
POLICY = """\
version: 1
default: deny
rules:
  - tools: ["read_*", "look"]
    action: allow
"""
COMMAND = "echo hello > made.txt"
SHELL, READ, WRITE = "call_shell", "call_read", "call_write"
MCP, DENIED, LYING = "call_mcp", "call_denied", "call_lying"


class Worked(NamedTuple):
    id_from: str  # where the agent tells a server its id of a call
    work: Path
    done: subprocess.CompletedProcess[bytes]
    run: Recorded
    calls: dict[str, dict[str, Any]]  # of `steno calls`, by id
    heard: dict[str, str]  # what the model was told of each call

    def path(self, name: str) -> str:
        return str(self.work / name)


def wrapped(base: Path, work: Path) -> Servers:
    (base / "policy.yaml").write_text(POLICY)
    wrap: list[str | Path] = [PROGRAM, "mcp", "wrap", "--policy", base / "policy.yaml"]
    return {
        "files": [*wrap, "--label", "files", "--", "node", FILESYSTEM_SERVER, work],
        "lying": [*wrap, "--label", "lying", "--", sys.executable, LYING_SERVER],
    }


def hooks(agent: str) -> str:
    """The settings that Steno prints for its users."""
    words = [str(PROGRAM), "hook", agent, "--print-settings"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout


def worked(place: Place, agent: Agent, model: ScriptedModel, id_from: str) -> Worked:
    """The agent, recorded from its start to its end, and what Steno says of its calls."""
    store = place.home / "runs"
    env = {"PATH": os.environ["PATH"], "HOME": str(place.home), "STENO_HOME": str(store), **agent.env}

    def steno(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=place.work,
            env=env,
            timeout=2 * SECONDS,
            check=False,
        )

    done = steno("run", "--", *agent.command)
    calls = json.loads(steno("calls", "@last", "--json").stdout)["calls"]
    by_id = {call["tool_call_id"]: call for call in calls}
    return Worked(id_from, place.work, done, only_run(store), by_id, model.results())


def claude_script(work: Path) -> Sequence[Turn]:
    notes = str(work / "notes.txt")
    return [
        Use(SHELL, "Bash", {"command": COMMAND, "description": "Make a file"}),
        Use(WRITE, "Write", {"file_path": str(work / "written.txt"), "content": "a line\n"}),
        Use(READ, "Read", {"file_path": notes}),
        Use(MCP, "mcp__files__read_text_file", {"path": notes}),
        Use(DENIED, "mcp__files__write_file", {"path": str(work / "denied.txt"), "content": "x"}),
        Use(LYING, "mcp__lying__look", {"path": notes}),
        Say("All is done."),
    ]


def codex_script(work: Path) -> Sequence[Turn]:
    notes = str(work / "notes.txt")
    return [
        Use(SHELL, "exec_command", {"cmd": COMMAND}),
        Use(MCP, "read_text_file", {"path": notes}, "mcp__files"),
        Use(DENIED, "write_file", {"path": str(work / "denied.txt"), "content": "x"}, "mcp__files"),
        Use(LYING, "look", {"path": notes}, "mcp__lying"),
        Say("All is done."),
    ]


class Kind(NamedTuple):
    model: type[ScriptedModel]
    script: Callable[[Path], Sequence[Turn]]
    set_up: Callable[[Place, str, str, Servers], Agent]
    id_from: str


KINDS = {
    "claude": Kind(MessagesModel, claude_script, claude, "_meta.claudecode/toolUseId"),
    "codex": Kind(ResponsesModel, codex_script, codex, "_meta.callId"),
}
BY_CLAUDE = pytest.param("claude", marks=needs(CLAUDE, FILESYSTEM_SERVER))
BY_CODEX = pytest.param("codex", marks=needs(CODEX, FILESYSTEM_SERVER))


@pytest.fixture(scope="module", params=[BY_CLAUDE, BY_CODEX])
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    base = tmp_path_factory.mktemp(request.param)
    place, kind = Place.below(base), KINDS[request.param]
    (place.work / "notes.txt").write_text("what the tool reads\n")
    with kind.model(kind.script(place.work)) as model:
        started = kind.set_up(place, model.url, hooks(request.param), wrapped(base, place.work))
        return worked(place, started, model, kind.id_from)


def test_the_agent_works_as_it_does_without_steno(agent: Worked) -> None:
    assert agent.done.returncode == 0, agent.done.stderr
    assert (agent.work / "made.txt").read_text() == "hello\n"
    assert "what the tool reads" in agent.heard[MCP]


def test_the_run_is_valid_and_has_every_layer(agent: Worked) -> None:
    health = agent.run.json(layout.HEALTH)
    assert agent.run.is_valid
    assert (health["kernel_layer"], health["policy_layer"]) == ("complete", "present")
    assert health["sdk_layer"] == "self_reported"


@pytest.mark.skipif(not a_cgroup_can_be_made(), reason="no cgroup here: what ties the layers is never clean")
def test_every_decision_is_tied_to_what_its_server_did_without_a_doubt(agent: Worked) -> None:
    report = agent.run.json(layout.CORRELATION)
    counts = {one["tool_call_id"]: one["kernel_event_count"] for one in report["bindings"]}
    assert (report["status"], report["ambiguities"]) == ("clean", [])
    assert counts[DENIED] == 0
    assert min(counts[MCP], counts[LYING]) > 0


def test_a_command_of_its_shell_is_said_by_the_hook_and_seen_by_the_kernel(agent: Worked) -> None:
    call = agent.calls[SHELL]
    assert call["said"]["input"]["command"] == COMMAND
    assert call["decided"] is None
    assert agent.path("made.txt") in call["seen"]["files"]["written"]
    assert call["verdict"] == "confirmed"


def test_a_call_of_an_mcp_tool_has_the_agents_own_id_in_both_layers(agent: Worked) -> None:
    decided = {line["tool_call_id"]: line for line in agent.run.decided}
    said = {line["tool_call_id"] for line in agent.run.said}
    assert set(decided) == {MCP, DENIED, LYING}
    assert set(decided) <= said
    assert {line["steno"]["id_from"] for line in decided.values()} == {agent.id_from}


def test_a_call_of_an_mcp_tool_is_said_decided_and_seen(agent: Worked) -> None:
    call = agent.calls[MCP]
    assert call["said"]["tool"] == "mcp__files__read_text_file"
    assert call["decided"]["decision"] == "allow"
    assert call["seen"]["files"]["read"] == [agent.path("notes.txt")]
    assert call["verdict"] == "confirmed"


def test_the_model_reads_why_a_tool_was_denied_and_nothing_was_done(agent: Worked) -> None:
    call = agent.calls[DENIED]
    assert "policy does not allow the tool 'write_file'" in agent.heard[DENIED]
    assert not (agent.work / "denied.txt").exists()
    assert call["verdict"] == "denied"
    assert call["seen"]["kernel_event_count"] == 0


def test_a_tool_that_says_it_only_reads_and_writes_is_contradicted(agent: Worked) -> None:
    call = agent.calls[LYING]
    assert call["decided"]["read_only"] is True
    assert call["seen"]["files"]["written"] == [agent.path("hidden.txt")]
    assert call["verdict"] == "contradicted"


def test_nothing_but_loopback_was_reached(agent: Worked) -> None:
    reached = agent.run.json(layout.SURFACE)["network_endpoints"]
    assert reached
    assert {endpoint.rpartition(":")[0] for endpoint in reached} == {"127.0.0.1"}


@pytest.mark.parametrize("agent", [BY_CLAUDE], indirect=True)
def test_a_file_that_claude_writes_is_seen_to_be_written(agent: Worked) -> None:
    call = agent.calls[WRITE]
    assert (agent.work / "written.txt").read_text() == "a line\n"
    assert agent.path("written.txt") in call["seen"]["files"]["written"]
    assert call["verdict"] == "confirmed"


@pytest.mark.parametrize("agent", [BY_CLAUDE], indirect=True)
def test_a_file_that_claude_reads_is_confirmed_although_claude_keeps_notes(agent: Worked) -> None:
    call = agent.calls[READ]
    assert agent.path("notes.txt") in call["seen"]["files"]["read"]
    assert call["verdict"] == "confirmed"
