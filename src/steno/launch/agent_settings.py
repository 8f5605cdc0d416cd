"""What is written into an agent's settings before it is started: trust, hooks, and policy before MCP servers.

Settings are merged, never replaced: a file keeps everything else that it holds, to the comment, and a
second time changes no byte. A policy is never said to hold where it does not. Only the run directory is
trusted.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from steno.agents.definition import AgentDefinition, McpServers, Trust
from steno.agents.known import builtin
from steno.contracts.agent_audit.meta import PolicyGiven, TrustGiven
from steno.errors import AgentSetupError, BadRequestError
from steno.launch import json_edit, settings_file, toml_edit
from steno.launch.environment import Home
from steno.launch.mcp_servers import McpServerFile, Written

# --- what a policy does not hold for, in words that the record has as well --------------------------
UNKNOWN_PLACE = "the policy holds for nothing: it is not known where this agent keeps its MCP servers"
NO_SERVERS = "the policy holds for nothing: this home has no MCP server that it could stand before"
BY_ARGUMENTS = "the policy does not hold for MCP servers that the agent's own arguments bring along"
BY_DIRECTORY = "the policy does not hold for MCP servers that files of the run directory bring along"
WITHOUT_COMMAND = "the policy does not hold for the MCP server {name}: it has no command"
NO_LONGER = "the MCP server {name} has its own command again: no policy stands before it"


class Instrumentation(Struct, frozen=True, kw_only=True):
    arguments: list[str]
    written: list[Written]
    uncovered: list[str]  # what the policy does not hold for
    policy: PolicyGiven | None = None

    @property
    def freed(self) -> list[str]:
        """Servers that stood behind a policy and do so no longer."""
        servers = [one for one in self.written if one.what == "server" and one.policy is None]
        return [NO_LONGER.format(name=server.name) for server in servers]


@contextmanager
def observed(
    description: AgentDefinition,
    home: Home,
    directory: Path,
    arguments: Sequence[str] = (),
    *,
    hooks: bool,
    policy: Path | None,
    steno: Sequence[str] = (),
) -> Iterator[Instrumentation]:
    """For as long as the agent runs, no other attempt changes which policy its servers stand behind.

    `directory` is where the agent works, `arguments` are those that it is started with, without what is said
    to the model, and `steno` are the words that start this very program.
    """
    if home.kind == "default":
        _require_nothing_asked(hooks=hooks, policy=policy)
        yield Instrumentation(arguments=[], written=[], uncovered=[])
        return
    # One that cannot be used is an error now: else a server would fail, and only the agent be told why.
    given = None if policy is None else policy_given(policy)
    words = list(steno) or own_words()
    written: list[Written] = []
    more: list[str] = []
    if hooks:
        written.append(_add_hooks(description, home.path, words))
        more = list(description.hooks.arguments) if description.hooks else []
    with ExitStack() as held:
        files = [
            McpServerFile(places, home.path, directory, words, given)
            for places in _by_file(description.settings.mcp_servers)
        ]
        for file in files:
            held.enter_context(file.held())
            written += file.written
        uncovered = [] if policy is None else _uncovered(description, directory, arguments, files)
        yield Instrumentation(arguments=more, written=written, uncovered=uncovered, policy=given)


def _by_file(places: Sequence[McpServers]) -> list[list[McpServers]]:
    """A file is held once, whatever the order of its places: its lock is not given twice."""
    found: dict[str, list[McpServers]] = {}
    for place in places:
        found.setdefault(place.file, []).append(place)
    return list(found.values())


def policy_given(path: Path) -> PolicyGiven:
    """`BadPolicyError` for a policy that cannot be used."""
    from steno.mcp.policy import loader  # late: most starts have none, and YAML is slow to load

    return PolicyGiven(str(path.absolute()), loader.load(path).digest)


def _uncovered(
    description: AgentDefinition,
    directory: Path,
    arguments: Sequence[str],
    files: Sequence[McpServerFile],
) -> list[str]:
    found: list[str] = []
    if not files:
        found.append(UNKNOWN_PLACE)
    elif not any(file.written for file in files):
        found.append(NO_SERVERS)
    found += [WITHOUT_COMMAND.format(name=name) for file in files for name in file.without_command]
    if any(word.startswith(tuple(description.settings.mcp_flags)) for word in arguments):
        found.append(BY_ARGUMENTS)
    if any(os.path.lexists(directory / file) for file in description.settings.mcp_files):
        found.append(BY_DIRECTORY)
    return found


def _require_nothing_asked(*, hooks: bool, policy: Path | None) -> None:
    if hooks or policy is not None:
        raise BadRequestError(
            "hooks and policies are set up in a home of the agent's own, and --home default is yours",
            hint="use --home isolated, or follow docs/hooks.md and docs/mcp.md by hand",
        )


def own_words() -> list[str]:
    """By an absolute path: the PATH of an agent, and the folder it works in, are not ours."""
    own = Path(sys.argv[0]).absolute()
    if own.name == "steno" and own.is_file():
        return [str(own)]
    return [sys.executable, "-P", "-m", "steno"]


def _add_hooks(description: AgentDefinition, home: Path, words: Sequence[str]) -> Written:
    hooks = description.hooks
    if hooks is None:
        raise BadRequestError(
            f"{description.name} has no hooks that Steno knows",
            hint="leave out --hooks; the recording needs none",
        )
    read_as = hooks.like or description.name
    known = builtin().get(read_as)
    if known is None or known.hooks is None:
        raise BadRequestError(
            f"nobody would understand the hooks of {read_as}: it does not come with Steno",
            hint="in its description let [hooks] say `like`: an agent whose payloads are the same",
        )
    command = shlex.join([*words, "hook", read_as])
    if hooks.folder is not None:
        names = known.hooks.settings_names()
        changed = [_add_program(home, f"{hooks.folder}/{name}", command) for name in names]
        return Written(
            file=str(home / hooks.folder), what="hooks", name=description.name, changed=any(changed)
        )

    settings = known.hooks.settings(command)

    def merged(text: bytes) -> bytes:
        for keys, value in _leaves(settings, ()):
            for element in value:
                text = json_edit.append(text, keys, element)
        return text

    file = hooks.file or ""
    changed_file = settings_file.change(home, file, merged)
    return Written(file=str(home / file), what="hooks", name=description.name, changed=changed_file)


def _add_program(home: Path, file: str, command: str) -> bool:
    """A hook that is a program. One that somebody else has put there is not replaced."""
    content = f"#!/bin/sh\nexec {command}\n".encode()

    def ours(text: bytes) -> bytes:
        if text and b" hook " not in text:
            raise AgentSetupError(
                f"{home / file} is a hook already, and an agent has one for each event",
                hint="move it away, or leave out --hooks",
            )
        return content

    changed = settings_file.change(home, file, ours)
    (home / file).chmod(0o700)
    return changed


def _leaves(settings: dict[str, Any], above: tuple[str, ...]) -> list[tuple[tuple[str, ...], list[Any]]]:
    """The lists of our settings, by their keys: each is added to what is there."""
    found: list[tuple[tuple[str, ...], list[Any]]] = []
    for key, value in settings.items():
        if isinstance(value, dict):
            found += _leaves(value, (*above, key))
        else:
            found.append(((*above, key), value))
    return found


def apply_trust(
    description: AgentDefinition, home: Path, directory: Path, environ: Mapping[str, str]
) -> TrustGiven | None:
    """`environ` is what the agent will have; None for an agent that asks for no trust."""
    trust = description.settings.trust
    if trust is None:
        return None
    editor = toml_edit if trust.format == "toml" else json_edit
    real = _as_text(os.path.realpath(directory))
    keys = [key.replace("{directory}", real) for key in trust.key]
    base, file = _place(trust, home, directory, environ)
    changed = settings_file.change(base, file, lambda text: editor.set_value(text, keys, trust.value))
    return TrustGiven(str(base / file), keys, already_there=not changed)


def _as_text(directory: str) -> str:
    try:
        directory.encode()
    except UnicodeEncodeError:
        raise AgentSetupError(
            f"{directory!r} cannot be trusted: its name is not UTF-8, which settings are",
            hint="choose another place for runs with STENO_AGENTS",
        ) from None
    return directory


def _place(trust: Trust, home: Path, directory: Path, environ: Mapping[str, str]) -> tuple[Path, str]:
    for variable, file in trust.relocated_by.items():
        if environ.get(variable):
            named = directory / environ[variable]  # the agent works there
            return (named, file) if file else (named.parent, named.name)
    return home, trust.file
