"""Homes of agents with MCP servers in them, set up to be observed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from steno.agents.catalog import Catalogue
from steno.launch import agent_settings
from steno.launch.agent_settings import Instrumentation
from steno.launch.environment import Home

CATALOGUE = Catalogue.load({})
STENO = ["/opt/st eno/steno"]
CODEX = """# servers of mine
[mcp_servers.files]  # local
command = "npx"  # the runner
args = ["-y", "server-filesystem", "."]
startup_timeout_sec = 60

[mcp_servers.bare]
command = "./bare"

[mcp_servers.far]
url = "https://example.com/mcp"
"""


def observed(
    name: str,
    home: Home,
    *arguments: str,
    hooks: bool = False,
    policy: Path | None = None,
    steno: Sequence[str] = STENO,
) -> AbstractContextManager[Instrumentation]:
    """Until it is left: as long as the agent would run."""
    description = CATALOGUE.get(name)
    return agent_settings.observed(
        description, home, home.path.parent, arguments, hooks=hooks, policy=policy, steno=steno
    )


def prepared(
    name: str, home: Home, *arguments: str, hooks: bool = False, policy: Path | None = None
) -> Instrumentation:
    with observed(name, home, *arguments, hooks=hooks, policy=policy) as found:
        return found


def put(home: Home, file: str, text: str) -> Path:
    path = home.path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
