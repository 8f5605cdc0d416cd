"""Claude Code and Codex, started by `steno agent` with their own sandboxes on: neither is in the other's way.

The agents are the real ones; only the model is a script, whose shell writes a file where it may and another
where it may not.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from steno.evidence import layout
from support.program import PROGRAM, SECONDS
from support.real_agents import CLAUDE, CODEX, codex_config, environment, needs
from support.recorded import Recorded, only_run
from support.scripted_models import MessagesModel, ResponsesModel, Say, ScriptedModel, Turn, Use
from support.stand_in_agent import Attempt, Started

MADE = "made.txt"
INSIDE, OUTSIDE = "call_inside", "call_outside"


class Sandboxed(NamedTuple):
    attempt: Attempt
    run: Recorded
    outside: Path
    heard: dict[str, str]  # what the model was told of each call


def claude_script(outside: Path) -> Sequence[Turn]:
    return [
        Use(INSIDE, "Bash", {"command": f"echo hello > {MADE}", "description": "Make a file"}),
        Use(OUTSIDE, "Bash", {"command": f"echo no > {outside}", "description": "Make another"}),
        Say("All is done."),
    ]


def codex_script(outside: Path) -> Sequence[Turn]:
    return [
        Use(INSIDE, "exec_command", {"cmd": f"echo hello > {MADE}"}),
        Use(OUTSIDE, "exec_command", {"cmd": f"echo no > {outside}"}),
        Say("All is done."),
    ]


def claude_settings(home: Path, url: str) -> dict[str, str]:
    sandbox = {
        "enabled": True,
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
    }
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps({"sandbox": sandbox}))
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted"}


def codex_settings(home: Path, url: str) -> dict[str, str]:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(codex_config(url, "OPENAI_API_KEY"))
    return {"OPENAI_API_KEY": "scripted"}


class Kind(NamedTuple):
    model: type[ScriptedModel]
    script: Callable[[Path], Sequence[Turn]]
    set_up: Callable[[Path, str], dict[str, str]]
    arguments: list[str]


KINDS = {
    "claude": Kind(MessagesModel, claude_script, claude_settings, []),
    "codex": Kind(ResponsesModel, codex_script, codex_settings, ["--sandbox", "workspace-write"]),
}


def a_sandbox_can_be_made() -> bool:
    """As both of them do it: with bubblewrap, and without any network."""
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true"]
    if shutil.which("bwrap") is None:
        return False
    return subprocess.run(words, capture_output=True, timeout=SECONDS, check=False).returncode == 0


in_a_sandbox = pytest.mark.skipif(
    not a_sandbox_can_be_made(), reason="bubblewrap is not installed, or may not make a sandbox here"
)
with_socat = pytest.mark.skipif(
    shutil.which("socat") is None, reason="socat is not installed: Claude Code has no sandbox without it"
)


@pytest.fixture
def place() -> Iterator[Path]:
    """Not below /tmp: commands in the sandbox of Codex may write there, and its own home may not be there."""
    with tempfile.TemporaryDirectory(prefix="steno-test-", dir="/var/tmp") as made:
        yield Path(made)


def sandboxed(name: str, home: Path) -> Sandboxed:
    kind, outside = KINDS[name], home / "outside.txt"
    agent = Started(home, environment(home))
    (agent.root / "home").mkdir(parents=True)
    with kind.model(kind.script(outside)) as model:
        agent.env.update(kind.set_up(agent.root / "home", model.url))
        attempt = agent.attempt("start", name, "Make the files.", "--", *kind.arguments)
    return Sandboxed(attempt, only_run(home / "records"), outside, model.results())


@in_a_sandbox
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("claude", marks=[needs(CLAUDE), with_socat]),
        pytest.param("codex", marks=needs(CODEX)),
    ],
)
def test_an_agent_in_its_own_sandbox_is_recorded_as_any_other(name: str, place: Path) -> None:
    ran = sandboxed(name, place)
    assert ran.attempt.done.returncode == 0, ran.attempt.done
    assert (ran.attempt.run_dir / MADE).read_text() == "hello\n", ran.heard
    assert "Read-only file system" in ran.heard[OUTSIDE]
    assert not ran.outside.exists()
    assert ran.attempt.json("fs-diff") == {"created": [MADE], "deleted": [], "modified": []}
    assert ran.run.is_valid
    assert ran.run.json(layout.HEALTH)["kernel_layer"] == "complete"
    changed = changed_files(ran.run)
    assert changed[str(ran.attempt.run_dir / MADE)] == "created"
    assert str(ran.outside) not in changed


def changed_files(run: Recorded) -> dict[str, str]:
    """What the kernel saw."""
    words: list[str | Path] = [PROGRAM, "files", run.path, "--json"]
    told = subprocess.run(words, capture_output=True, timeout=SECONDS, check=True)
    return {entry["path"]: entry["change"] for entry in json.loads(told.stdout)["files"]}
