"""What is set up in the home of an agent to observe it, and what a policy is not said to hold for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from steno.agents.catalog import Catalogue
from steno.agents.known import parse_definition
from steno.errors import AgentSetupError, BadPolicyError, BadRequestError
from steno.launch import agent_settings
from steno.launch.agent_settings import Instrumentation
from steno.launch.environment import Home
from steno.launch.mcp_servers import Written
from support.observed_homes import CODEX, prepared, put


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\ndefault: deny\n")
    return path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home", "isolated")


def test_nothing_that_was_not_asked_for_is_written(home: Home) -> None:
    for name in Catalogue.load({}).known:
        assert prepared(name, home) == Instrumentation(arguments=[], written=[], uncovered=[])
    assert os.listdir(home.path) == []


@pytest.mark.parametrize(
    ("name", "file", "arguments"),
    [
        ("claude", ".claude/settings.json", []),
        ("codex", ".codex/hooks.json", ["--dangerously-bypass-hook-trust"]),
        ("gemini", ".gemini/settings.json", []),
    ],
)
def test_the_hooks_are_those_that_steno_hook_prints(
    home: Home, name: str, file: str, arguments: list[str]
) -> None:
    done = prepared(name, home, hooks=True)
    assert done.arguments == arguments
    assert done.written == [Written(file=str(home.path / file), what="hooks", name=name, changed=True)]
    settings = json.loads((home.path / file).read_bytes())
    for groups in settings["hooks"].values():
        assert groups == [{"hooks": [{"type": "command", "command": f"'/opt/st eno/steno' hook {name}"}]}]
    assert len(settings["hooks"]) >= 3


def test_hooks_that_are_there_stay_and_ours_come_once(home: Home) -> None:
    theirs = '{\n  // mine\n  "model": "x",\n  "hooks": {\n    "Stop": [{"hooks": []}] // always\n  }\n}\n'
    file = put(home, ".claude/settings.json", theirs)
    prepared("claude", home, hooks=True)
    text = file.read_text()
    assert "// mine\n" in text
    assert "// always\n" in text
    assert '"Stop": [{"hooks": []}, {"hooks": [{' in text
    assert prepared("claude", home, hooks=True).written[0].changed is False
    assert file.read_text() == text


def test_settings_that_are_not_json_are_left_untouched(home: Home) -> None:
    file = put(home, ".claude/settings.json", '{"hooks": [')
    with pytest.raises(AgentSetupError, match="cannot be used"):
        prepared("claude", home, hooks=True)
    assert file.read_text() == '{"hooks": ['


def test_an_agent_without_hooks_is_refused(home: Home) -> None:
    with pytest.raises(BadRequestError, match="opencode has no hooks"):
        prepared("opencode", home, hooks=True)


def test_hooks_that_are_programs_stand_in_their_folder_once_and_replace_nothing(home: Home) -> None:
    done = prepared("cline", home, hooks=True)
    folder = home.path / ".cline" / "hooks"
    assert done.written == [Written(file=str(folder), what="hooks", name="cline", changed=True)]
    assert sorted(hook.name for hook in folder.iterdir()) == ["PostToolUse", "PreToolUse", "TaskComplete"]
    for hook in folder.iterdir():
        assert hook.read_text() == "#!/bin/sh\nexec '/opt/st eno/steno' hook cline\n"
        assert hook.stat().st_mode & 0o777 == 0o700
    assert prepared("cline", home, hooks=True).written[0].changed is False
    (folder / "PreToolUse").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(AgentSetupError, match="PreToolUse is a hook already"):
        prepared("cline", home, hooks=True)
    assert (folder / "PreToolUse").read_text() == "#!/bin/sh\nexit 0\n"


def test_an_agent_of_the_users_has_hooks_like_those_of_one_that_comes_with_steno(home: Home) -> None:
    text = 'program = "x"\ninstall = "-"\n[launch]\nstart = ["{prompt}"]\n[hooks]\nfile = ".mine/set.json"\n'
    mine = parse_definition("mine", f'{text}like = "claude"\n'.encode())
    with agent_settings.observed(mine, home, home.path, hooks=True, policy=None, steno=["steno"]):
        found = json.loads((home.path / ".mine" / "set.json").read_text())["hooks"]
    assert found["PreToolUse"] == [{"hooks": [{"type": "command", "command": "steno hook claude"}]}]
    own = 'event = "e"\n[hooks.events]\nStop = { emits = "run_finished" }\n'
    alien = parse_definition("mine", f"{text}{own}".encode())
    with (
        pytest.raises(BadRequestError, match="nobody would understand the hooks of mine"),
        agent_settings.observed(alien, home, home.path, hooks=True, policy=None),
    ):
        pass


@pytest.mark.parametrize("hooks", [True, False])
def test_the_users_own_home_is_never_touched(home: Home, policy: Path, hooks: bool) -> None:
    put(home, ".codex/config.toml", CODEX)
    with pytest.raises(BadRequestError, match="home of the agent's own"):
        prepared("codex", Home(home.path, "default"), hooks=hooks, policy=None if hooks else policy)
    prepared("codex", Home(home.path, "default"))
    assert (home.path / ".codex" / "config.toml").read_text() == CODEX


def test_a_policy_that_cannot_be_used_is_an_error_before_anything_is_written(
    home: Home, policy: Path
) -> None:
    file = put(home, ".codex/config.toml", CODEX)
    policy.write_text("version: 9\n")
    with pytest.raises(BadPolicyError):
        prepared("codex", home, policy=policy, hooks=True)
    assert file.read_text() == CODEX
    assert os.listdir(home.path) == [".codex"]


def test_the_words_for_ourselves_hold_in_any_directory() -> None:
    words = agent_settings.own_words()
    assert Path(words[0]).is_absolute()
    assert words[1:] in ([], ["-P", "-m", "steno"])


# --- what a policy does not hold for ----------------------------------------------------------------

SERVER = '{"mcpServers": {"one": {"command": "s"}}}'


def test_a_policy_that_holds_for_everything_is_not_doubted(home: Home, policy: Path) -> None:
    put(home, ".claude.json", SERVER)
    assert prepared("claude", home, "--allowedTools", "mcp__one", policy=policy).uncovered == []


@pytest.mark.parametrize("settings", [None, "{}", '{"mcpServers": {}}'])
def test_a_policy_for_a_home_without_servers_is_said_to_hold_for_nothing(
    home: Home, policy: Path, settings: str | None
) -> None:
    if settings is not None:
        put(home, ".claude.json", settings)
    assert prepared("claude", home, policy=policy).uncovered == [agent_settings.NO_SERVERS]


def test_a_policy_for_an_agent_whose_servers_nobody_knows_is_said_to_hold_for_nothing(
    home: Home, policy: Path
) -> None:
    mine = parse_definition(
        "mine", b'program = "x"\ninstall = "-"\n[launch]\nstart = ["{prompt}"]\nresume = ["{session}"]'
    )
    with agent_settings.observed(mine, home, home.path, hooks=False, policy=policy) as found:
        assert found.uncovered == [agent_settings.UNKNOWN_PLACE]
    with agent_settings.observed(mine, home, home.path, hooks=False, policy=None) as found:
        assert found.uncovered == []


@pytest.mark.parametrize(
    ("name", "file", "settings", "arguments"),
    [
        ("claude", ".claude.json", SERVER, ["--mcp-config", "own.json"]),
        ("claude", ".claude.json", SERVER, ["--mcp-config=own.json"]),
        (
            "codex",
            ".codex/config.toml",
            CODEX.partition("[mcp_servers.far]")[0],
            ["-c", "mcp_servers.x.command=y"],
        ),
    ],
)
def test_servers_that_the_arguments_bring_along_are_said_to_be_unguarded(
    home: Home, policy: Path, name: str, file: str, settings: str, arguments: list[str]
) -> None:
    put(home, file, settings)
    assert prepared(name, home, *arguments, policy=policy).uncovered == [agent_settings.BY_ARGUMENTS]
    assert prepared(name, home, *arguments).uncovered == []


def test_servers_that_the_run_directory_brings_along_are_said_to_be_unguarded(
    home: Home, policy: Path
) -> None:
    put(home, ".claude.json", SERVER)
    (home.path.parent / ".mcp.json").write_text("{}")
    assert prepared("claude", home, policy=policy).uncovered == [agent_settings.BY_DIRECTORY]


def test_places_of_one_file_are_held_once_in_whatever_order_they_are_described(
    home: Home, policy: Path
) -> None:
    """A lock that is asked for a second time would never be given."""
    text = b'program = "x"\ninstall = "-"\n[launch]\nstart = ["{prompt}"]\nresume = ["{session}"]\n'
    for file, key in (("a.json", "one"), ("b.json", "two"), ("a.json", "three")):
        text += f'[[settings.mcp_servers]]\nfile = "{file}"\nformat = "json"\nkey = ["{key}"]\n'.encode()
    put(home, "a.json", '{"one": {"s": {"command": "s"}}, "three": {"t": {"command": "t"}}}')
    put(home, "b.json", '{"two": {"u": {"command": "u"}}}')
    with agent_settings.observed(
        parse_definition("mine", text), home, home.path, hooks=False, policy=policy
    ) as found:
        assert sorted(one.name for one in found.written) == ["s", "t", "u"]
