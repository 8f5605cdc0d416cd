"""The MCP servers in an agent's settings stand behind a policy, or have their own commands again."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest

from steno.errors import AgentSetupError
from steno.launch import agent_settings, mcp_servers
from steno.launch.environment import Home
from steno.launch.mcp_servers import own_command
from support.observed_homes import CODEX, STENO, observed, prepared, put


@pytest.fixture
def wrapped(policy: Path) -> list[str]:
    return [*STENO, "mcp", "wrap", "--policy", str(policy), "--label"]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\ndefault: deny\n")
    return path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home", "isolated")


def test_the_servers_of_codex_are_wrapped_and_comments_stay(
    home: Home, policy: Path, wrapped: list[str]
) -> None:
    file = put(home, ".codex/config.toml", CODEX)
    done = prepared("codex", home, policy=policy)
    servers = tomllib.loads(file.read_text())["mcp_servers"]
    words = [*wrapped[1:], "files", "--", "npx", "-y", "server-filesystem", "."]
    assert servers["files"] == {"command": STENO[0], "args": words, "startup_timeout_sec": 60}
    assert servers["bare"] == {"command": STENO[0], "args": [*wrapped[1:], "bare", "--", "./bare"]}
    assert servers["far"] == {"url": "https://example.com/mcp"}
    assert done.uncovered == [agent_settings.WITHOUT_COMMAND.format(name="far")]
    assert [(one.name, one.changed) for one in done.written] == [("files", True), ("bare", True)]
    for comment in ("# servers of mine\n", "# local\n", "# the runner\n"):
        assert comment in file.read_text()


def test_a_second_time_wraps_nothing_twice_and_another_policy_takes_the_place(
    home: Home, policy: Path
) -> None:
    file = put(home, ".codex/config.toml", CODEX)
    prepared("codex", home, policy=policy)
    once = file.read_bytes()
    again = prepared("codex", home, policy=policy)
    assert file.read_bytes() == once
    assert not any(one.changed for one in again.written)
    other = policy.with_name("other.yaml")
    other.write_bytes(policy.read_bytes())
    prepared("codex", home, policy=other)
    args = tomllib.loads(file.read_text())["mcp_servers"]["files"]["args"]
    assert args[:4] == ["mcp", "wrap", "--policy", str(other)]
    assert args.count("wrap") == 1


def test_without_a_policy_servers_get_their_own_commands_back(home: Home, policy: Path) -> None:
    file = put(home, ".codex/config.toml", CODEX)
    wrapped = prepared("codex", home, policy=policy)
    freed = prepared("codex", home)
    servers = tomllib.loads(file.read_text())["mcp_servers"]
    assert servers["files"]["command"] == "npx"
    assert servers["files"]["args"] == ["-y", "server-filesystem", "."]
    assert servers["bare"]["command"] == "./bare"
    digest = hashlib.sha256(policy.read_bytes()).hexdigest()
    assert wrapped.written[0].told == f"server files behind {policy} ({digest[:12]})"
    assert freed.written[0].told == "server files: own command again"
    assert (wrapped.freed, freed.freed[0]) == ([], agent_settings.NO_LONGER.format(name="files"))


def test_claude_keeps_servers_for_all_and_for_a_directory(
    home: Home, policy: Path, wrapped: list[str]
) -> None:
    work = str(home.path.parent.resolve())
    server = {"type": "stdio", "command": "s", "args": ["x"], "env": {"A": "b"}}
    settings = {"mcpServers": {"one": server}, "projects": {work: {"mcpServers": {"two": server}}, "/y": {}}}
    file = put(home, ".claude.json", json.dumps(settings, indent=2))
    prepared("claude", home, policy=policy)
    made = json.loads(file.read_bytes())
    for name, found in (("one", made["mcpServers"]), ("two", made["projects"][work]["mcpServers"])):
        assert found[name] == {**server, "command": STENO[0], "args": [*wrapped[1:], name, "--", "s", "x"]}
    assert list(made) == list(settings)


def test_the_servers_of_opencode_are_one_list_of_words(home: Home, policy: Path, wrapped: list[str]) -> None:
    local = {"type": "local", "command": ["bun", "x", "server"], "enabled": True}
    mcp = {"mcp": {"one": local, "two": {"type": "remote", "url": "https://example.com"}}}
    file = put(home, ".config/opencode/opencode.json", json.dumps(mcp))
    done = prepared("opencode", home, policy=policy)
    made = json.loads(file.read_bytes())["mcp"]
    assert made["one"] == {**local, "command": [*wrapped, "one", "--", "bun", "x", "server"]}
    assert made["two"] == mcp["mcp"]["two"]
    assert done.uncovered == [agent_settings.WITHOUT_COMMAND.format(name="two")]


@pytest.mark.parametrize(
    "server", ["7", "{}", '{"command": 7}', '{"command": "x", "args": "y"}', '{"command": ""}']
)
def test_what_is_no_server_is_named_and_left_alone(home: Home, policy: Path, server: str) -> None:
    file = put(home, ".gemini/settings.json", f'{{"mcpServers": {{"odd": {server}}}}}')
    before = file.read_text()
    assert (
        agent_settings.WITHOUT_COMMAND.format(name="odd") in prepared("gemini", home, policy=policy).uncovered
    )
    assert file.read_text() == before


@pytest.mark.parametrize("steno", [["/other/place/bin/steno"], ["/usr/bin/python3", "-P", "-m", "steno"]])
def test_a_wrapper_of_another_steno_is_known_as_one(home: Home, policy: Path, steno: list[str]) -> None:
    file = put(home, ".codex/config.toml", CODEX)
    with observed("codex", home, policy=policy, steno=steno):
        pass
    prepared("codex", home, policy=policy)
    args = tomllib.loads(file.read_text())["mcp_servers"]["files"]["args"]
    assert args.count("wrap") == 1
    prepared("codex", home)
    assert tomllib.loads(file.read_text())["mcp_servers"] == tomllib.loads(CODEX)["mcp_servers"] | {
        "bare": {"command": "./bare", "args": []}
    }


@pytest.mark.parametrize(
    "command",
    [
        ["/bin/steno", "mcp", "wrap", "--policy", "/p", "--label", "other", "--", "s"],
        ["/bin/steno", "mcp", "wrap", "--policy", "p", "--label", "one", "--", "s"],
        ["steno", "mcp", "wrap", "--policy", "/p", "--label", "one", "--", "s"],
        ["/bin/steno", "mcp", "wrap", "--label", "one", "--policy", "/p", "--", "s"],
        ["/bin/other", "mcp", "wrap", "--policy", "/p", "--label", "one", "--", "s"],
        ["/bin/steno", "mcp", "wrap", "--policy", "/p", "--label", "one", "--"],
        ["s", "--", "t"],
    ],
)
def test_a_command_that_is_not_our_wrapper_is_the_users_own(command: list[str]) -> None:
    assert own_command(command, "one") == command


# --- at the same time ---------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_servers, "PATIENCE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_while_an_agent_runs_behind_a_policy_no_start_takes_it_away(home: Home, policy: Path) -> None:
    file = put(home, ".codex/config.toml", CODEX)
    other = policy.with_name("other.yaml")
    other.write_bytes(policy.read_bytes())
    with observed("codex", home, policy=policy):
        running = file.read_bytes()
        with pytest.raises(AgentSetupError, match="another attempt is running") as refused:
            prepared("codex", home)
        with pytest.raises(AgentSetupError, match="another policy, or none"):
            prepared("codex", home, policy=other)
        with observed("codex", home, policy=policy):
            assert file.read_bytes() == running
    assert "--home" in refused.value.hint
    prepared("codex", home)
    assert "wrap" not in file.read_text()


@pytest.mark.usefixtures("impatient")
def test_while_an_agent_runs_without_a_policy_none_comes_between_it_and_its_servers(
    home: Home, policy: Path
) -> None:
    put(home, ".codex/config.toml", CODEX)
    with observed("codex", home), observed("codex", home):
        with pytest.raises(AgentSetupError, match="another attempt is running"):
            prepared("codex", home, policy=policy)
        put(home, ".claude.json", '{"mcpServers": {"one": {"command": "s"}}}')
        assert prepared("claude", home, policy=policy).written[0].changed, "another agent has its own file"


def test_settings_that_cannot_be_read_are_an_error_and_stay(home: Home, policy: Path) -> None:
    file = put(home, ".codex/config.toml", "[mcp_servers")
    with pytest.raises(AgentSetupError, match="cannot be used"):
        prepared("codex", home, policy=policy)
    assert file.read_text() == "[mcp_servers"
