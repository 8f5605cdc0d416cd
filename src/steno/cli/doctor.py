"""`steno doctor`: what can be observed on this machine."""

from __future__ import annotations

import os

import click

from steno.cli.opening import chosen_store, json_option, paint, print_json, print_lines, store_option
from steno.views import checkup


@click.command(
    "doctor",
    epilog="""\b
Marks:
  ok        works
  limited   recording works, and sees or keeps less
  missing   recording does not work without it (exit code 1)

\b
Examples:
  steno doctor
  steno doctor --json | jq '.findings[] | select(.mark != "ok")'""",
)
@store_option
@json_option
def command(store: str | None, as_json: bool) -> int:
    """Say what can be observed on this machine, and what to install for more.

    Looks at the store, pseudo-terminals, git, private memory, and runs that need attention. Changes nothing.
    """
    place = chosen_store(store).absolute()
    found = checkup.checkup(place, os.environ)
    if as_json:
        print_json(checkup.to_json(found, place))
    else:
        print_lines(checkup.lines(found, paint()))
    return checkup.exit_code(found)
