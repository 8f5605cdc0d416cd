"""The agents that come with Steno, and what is common to their definitions.

Judgement asks here and never for a user's own file: else two readers of one record would judge it
differently.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import msgspec

from steno.agents.definition import AgentDefinition
from steno.agents.stream import PLAIN, parser_names


@cache
def builtin() -> Mapping[str, AgentDefinition]:
    files = Path(__file__).parent.iterdir()
    found = sorted((file.name, file) for file in files if file.name.endswith(".toml"))
    return {
        name.removesuffix(".toml"): parse_definition(name.removesuffix(".toml"), file.read_bytes())
        for name, file in found
    }


def parse_definition(name: str, content: bytes) -> AgentDefinition:
    """Raises ValueError for anything that is not the description of the agent `name`."""
    try:
        table = tomllib.loads(content.decode())
    except RecursionError:
        raise ValueError("it is nested beyond measure") from None
    if table.setdefault("name", name) != name:
        raise ValueError(f"it describes {table['name']!r}; a file has the name of its agent")
    try:
        found = msgspec.convert(table, AgentDefinition)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    if found.stream.parser not in parser_names():
        raise ValueError(f"there is no parser {found.stream.parser!r}, only: {', '.join(parser_names())}")
    return found


def of_all(names: Callable[[AgentDefinition], Iterable[str]]) -> frozenset[str]:
    return frozenset(name for definition in builtin().values() for name in names(definition))


@cache
def launchers() -> frozenset[bytes]:
    """Programs of agents that start the shell that stands at the end of their arguments."""
    return frozenset(name.encode() for name in of_all(lambda agent: agent.tools.launchers))


@cache
def shell_forms() -> tuple[Callable[[bytes, bytes], bool], ...]:
    """Each says whether the text of a shell is a command as one agent wraps it."""
    modules = (import_module(f"steno.agents.{name}") for name in parser_names() if name != PLAIN)
    return tuple(module.runs_command for module in modules if hasattr(module, "runs_command"))


@cache
def state_below_home() -> frozenset[str]:
    """How the paths of what agents keep for themselves begin there."""
    return of_all(lambda agent: agent.state.home)
