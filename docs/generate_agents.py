"""Writes what pages and start-up need of the agents: `python docs/generate_agents.py --write`."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from steno.agents.known import builtin

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "src" / "steno" / "agents" / "made.py"


def module() -> str:
    agents = builtin().items()
    keys = [agent.mcp.call_id_key for _, agent in agents if agent.mcp.call_id_key]
    variables = {name: below for _, agent in agents for name, below in sorted(agent.state.variables.items())}
    lines = [
        '"""What start-up needs of the agents; made by docs/generate_agents.py from NAME.toml."""',
        "",
        "# Agents that tell by hooks.",
        f"HOOK_AGENTS = ({_words(name for name, agent in agents if agent.hooks)})",
        "# Where an agent's own id of a call is found in `params._meta` of a request to a server.",
        f"CALL_ID_KEYS = ({_words(keys)})",
        "# Variables that lead to what an agent keeps for itself -> what follows their value.",
        "STATE_VARIABLES = {",
        *(f'    "{name}": "{below}",' for name, below in sorted(variables.items())),
        "}",
    ]
    return "\n".join([*lines, ""])


def _words(words: Iterator[str] | list[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


if __name__ == "__main__":
    if "--write" in sys.argv:
        MODULE.write_text(module(), encoding="utf-8")
    else:
        print(module(), end="")
