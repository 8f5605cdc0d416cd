"""`steno surface`: what a run touched, reached and started, as sets."""

from __future__ import annotations

import click

from steno.cli.options import json_option, open_run, run_argument, store_option
from steno.cli.output import paint, print_json, print_paged, say, terminal_width
from steno.compare.sides import read_surface
from steno.model import capabilities
from steno.model.record import not_yet
from steno.views import surface as surface_text


@click.command(
    "surface",
    epilog="""\b
Examples:
  steno surface @last
  steno surface @last --project --all
  steno surface @last --json | jq -r '.network_endpoints[]'

`steno diff` compares two of them, `steno baseline` keeps one. docs/surface.md tells how names are made.""",
)
@run_argument
@click.option("--all", "everything", is_flag=True, help="List every entry, however many there are.")
@click.option(
    "--project", "projected", is_flag=True, help="Write $RUN_CWD, $HOME and $TMP for the run's directories."
)
@store_option
@json_option
def command(run: str, everything: bool, projected: bool, store: str | None, as_json: bool) -> None:
    """Say what a run touched, reached and started: every file, endpoint and program once.

    What only ever failed stands apart, below the rest. With --json it is
    capability-surface.json of the spec, projected if that is asked for.
    """
    with open_run(run, store) as opened:
        if why_not := not_yet(opened.record, "its surface is"):
            raise why_not
        surface = read_surface(opened.documents)
    layer = surface["steno"]["kernel_layer"]
    if layer != "complete":
        say(f"the kernel layer is {layer}: there may be more than this")
    if as_json:
        print_json(capabilities.projected_surface(surface) if projected else surface)
        return
    found = capabilities.of_surface(surface, projected=projected)
    lines = list(surface_text.lines(found, paint(), everything=everything, width=terminal_width()))
    if not lines:
        say("the surface is empty")
    print_paged(lines)
