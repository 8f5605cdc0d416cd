"""`steno net`: the addresses that a run talked to."""

from __future__ import annotations

import click

from steno.cli.opening import (
    json_option,
    open_run,
    paint,
    print_json,
    print_lines,
    run_argument,
    say,
    store_option,
    terminal_width,
)
from steno.views import network
from steno.views.kernel_layer import KernelLayer
from steno.views.record import open_record


@click.command(
    "net",
    epilog="""\b
Columns:
  FIRST      when it was first used, since the run began
  COUNT      how many calls named it
  CALLS      connect, bind, listen, accept, send; in brackets the errors that are known
  ENDPOINT   the address; names are not looked up
  PROCESSES  program[number], as in `steno tree`

\b
Examples:
  steno net @last
  steno net @last --json | jq -r '.endpoints[] | select(.operations.connect) | .name'
  steno net @last --json | jq '.unix_sockets'

A call is seen before it is made: an endpoint without an error was tried, and mostly reached.""",
)
@run_argument
@store_option
@json_option
def command(run: str, store: str | None, as_json: bool) -> None:
    """List every address that a run connected to, bound, listened on or sent to.

    Unix sockets are listed apart. Below are the sockets that were made, and calls on a descriptor whose
    address the call does not tell.
    """
    with open_run(run, store) as folder, open_record(folder) as record:
        layer = KernelLayer(record)
        if as_json:
            print_json(network.to_json(layer))
            return
        lines = list(network.lines(layer, paint(), width=terminal_width()))
    if not lines:
        say("the run did not use the network")
    print_lines(lines)
