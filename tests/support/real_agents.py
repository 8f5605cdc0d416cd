"""Real agents as fixtures: Claude Code, Codex, Gemini CLI and opencode from npm, in a home of their own.

In: a home and a work place of the test, the address of a scripted model, the MCP servers and the settings for
hooks that the agent is to have. Out: the words and the environment to start it with. Never reads the tester's
own settings, and needs no network but loopback.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from support.machine import NODE_MODULES

CLAUDE = NODE_MODULES / ".bin" / "claude"
CODEX = NODE_MODULES / ".bin" / "codex"
GEMINI = NODE_MODULES / ".bin" / "gemini"
OPENCODE = NODE_MODULES / ".bin" / "opencode"

# Or the first turn of Claude Code may begin without the tools of a server that is slow to start.
AWAIT_SERVERS = {
    "MCP_CONNECTION_NONBLOCKING": "0",
    "MCP_CONNECT_TIMEOUT_MS": "60000",
    "MCP_TIMEOUT": "60000",
}

Servers = Mapping[str, Sequence[str | Path]]


class Place(NamedTuple):
    """Where an agent lives and works."""

    home: Path
    work: Path

    @staticmethod
    def below(base: Path) -> Place:
        place = Place(base / "home", base / "work")
        (place.home / "tmp").mkdir(parents=True)
        place.work.mkdir()
        return place


class Agent(NamedTuple):
    command: list[str]
    env: dict[str, str]


def needs(*paths: Path) -> pytest.MarkDecorator:
    missing = [path.name for path in paths if not path.exists()]
    reason = f"not installed, `make packages` does it where npm is: {', '.join(missing)}"
    return pytest.mark.skipif(bool(missing) or shutil.which("node") is None, reason=reason)


def environment(home: Path) -> dict[str, str]:
    """Of a user who has the agents, and starts them with `steno agent`."""
    return {
        "PATH": f"{CLAUDE.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "STENO_HOME": str(home / "records"),
        "TERM": "xterm",
        "SHELL": "/bin/bash",
    }


def claude(place: Place, model: str, hooks: str, servers: Servers) -> Agent:
    settings, mcp = place.home / "settings.json", place.home / "mcp.json"
    settings.write_text(hooks)
    listed = {
        name: {"command": str(words[0]), "args": [str(word) for word in words[1:]]}
        for name, words in servers.items()
    }
    mcp.write_text(json.dumps({"mcpServers": listed}))
    # As root it refuses --dangerously-skip-permissions, so the tools are named.
    tools = ",".join(["Bash", "Read", "Write", *(f"mcp__{name}" for name in servers)])
    words = ["-p", "go", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"]
    words += ["--settings", str(settings), "--mcp-config", str(mcp), "--allowedTools", tools]
    env = {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CONFIG_DIR": str(place.home / ".claude"),
        "CLAUDE_CODE_TMPDIR": str(place.home / "tmp"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **AWAIT_SERVERS,
    }
    return Agent([str(CLAUDE), *words], _shell(place) | env)


def codex(place: Place, model: str, hooks: str, servers: Servers) -> Agent:
    home = place.home / ".codex"
    home.mkdir()
    (home / "hooks.json").write_text(hooks)
    trusted = f'[projects.{json.dumps(str(place.work))}]\ntrust_level = "trusted"\n'
    config = codex_config(model, "SCRIPTED_KEY") + trusted + codex_servers(servers)
    (home / "config.toml").write_text(config)
    words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "go"]
    return Agent([str(CODEX), *words], _shell(place) | {"CODEX_HOME": str(home), "SCRIPTED_KEY": "scripted"})


def _shell(place: Place) -> dict[str, str]:
    """The shell for their commands; and Codex does not want its own home to be a temporary one."""
    return {"SHELL": "/bin/bash", "TMPDIR": str(place.home / "tmp")}


def codex_config(model: str, key_variable: str) -> str:
    """TOML; its strings and lists are written as those of JSON."""
    lines = [
        'model = "scripted"',
        'model_provider = "scripted"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "check_for_update_on_startup = false",
        "[features]",  # those that ask the network before the first turn
        "apps = false",
        "plugins = false",
        "remote_plugin = false",
        "plugin_discovery_prefetch = false",
        "[analytics]",
        "enabled = false",
        "[model_providers.scripted]",
        'name = "scripted"',
        f"base_url = {json.dumps(f'{model}/v1')}",
        'wire_api = "responses"',
        f"env_key = {json.dumps(key_variable)}",
    ]
    return "\n".join(lines) + "\n"


def codex_servers(servers: Servers) -> str:
    lines = []
    for name, words in servers.items():
        lines += [
            f"[mcp_servers.{name}]",
            f"command = {json.dumps(str(words[0]))}",
            f"args = {json.dumps([str(word) for word in words[1:]])}",
            "required = true",  # likewise
            "startup_timeout_sec = 60",
        ]
    return "\n".join(lines) + "\n"


def gemini_config(servers: Mapping[str, object]) -> str:
    quiet = {"disableAutoUpdate": True, "disableUpdateNag": True}
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": quiet,
        "privacy": {"usageStatisticsEnabled": False},
        "mcpServers": servers,
    }
    return json.dumps(settings)


def opencode_config(model: str, key_variable: str, servers: Mapping[str, object]) -> str:
    """The key is read from the environment, as a careful user has it."""
    options = {"baseURL": f"{model}/v1", "apiKey": f"{{env:{key_variable}}}"}
    provider = {"npm": "@ai-sdk/anthropic", "options": options, "models": {"scripted": {}}}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "mcp": servers,
    }
    return json.dumps(config)
