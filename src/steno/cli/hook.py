"""`steno hook`: the settings of hooks. The hook itself is `steno.hooks.program`, by a shorter way."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import click

from steno.agents.known import builtin
from steno.cli.output import say, say_hint
from steno.errors import BadRequestError


@click.command(
    "hook",
    epilog="""\b
Examples:
  steno hook claude --print-settings
  steno run -- claude -p "fix the test" --settings "$(steno hook claude --print-settings)"
  steno hook codex --print-settings > ~/.codex/hooks.json""",
)
@click.argument("agent", metavar="AGENT")
@click.option(
    "--print-settings",
    is_flag=True,
    help="Print the settings that make AGENT call this hook; where they belong is said on stderr.",
)
def command(agent: str, print_settings: bool) -> None:
    """Tell the recorder what a hook of AGENT was given.

    The agent calls this at every call of a tool, with JSON on stdin. In a recorded run one line is added to
    what the agent said of itself; elsewhere nothing happens. It never stops the agent.
    """
    known = {name: definition.hooks for name, definition in builtin().items() if definition.hooks}
    hooks = known.get(agent)
    if hooks is None:
        raise BadRequestError(f"there are no hooks for {agent}", hint=f"agents: {', '.join(known)}")
    program = f"{_program()} hook {agent}"
    if print_settings and hooks.folder is not None:
        click.echo(f"#!/bin/sh\nexec {program}")
        names = ", ".join(hooks.settings_names())
        say(f"this belongs into ~/{hooks.folder}, executable, as each of {names}")
        return
    if print_settings:
        click.echo(json.dumps(hooks.settings(program), indent=2))
        say(f"these belong into ~/{hooks.file}, or {hooks.file} of a project")
        return
    say(f"{agent} calls this by itself, with JSON on stdin")
    say_hint(f"`steno hook {agent} --print-settings` prints the settings for that")


def _program() -> str:
    """By its name if that finds this very program, as the agent will look for it."""
    own = Path(sys.argv[0])
    found = shutil.which("steno")
    if found is not None and own.exists() and own.samefile(found):
        return "steno"
    if own.name == "steno":
        return shlex.quote(str(own.absolute()))
    # -P: the agent runs the hook in its project, and a json.py there must not be taken for Python's own.
    return shlex.join([sys.executable, "-P", "-m", "steno"])
