"""`steno net`: the addresses that a run talked to."""

from __future__ import annotations

import click

from steno.cli.options import json_option, open_run, run_argument, say_if_not_sealed, store_option
from steno.cli.output import paint, print_json, print_paged, say, terminal_width
from steno.views import net


@click.command(
    "net",
    epilog="""\b
Columns:
  FIRST      when it was first used, since the run began
  COUNT      how many calls named it
  CALLS      connect, bind, listen, accept, send; in brackets the errors that are known
  ENDPOINT   the address; names are not looked up
  OUTCOME    of connecting: connected; refused or failed, with the errors; attempted, outcome not seen;
             address set, sending not seen: on a datagram socket connecting sends nothing
  PROCESSES  program[number], as in `steno tree`

\b
Examples:
  steno net @last
  steno net @last --json | jq -r '.endpoints[] | select(.operations.connect) | .name'
  steno net @last --json | jq '.unix_sockets'

A call is seen before it is made, and a program that does not wait is told later what came of it: then the
outcome was not seen. It may have been reached, or not. Where the socket may have been of either kind, it is
connected, or only an address set. Netlink and the end of a connection have no endpoint. On a narrow terminal
each endpoint has two lines.""",
)
@run_argument
@store_option
@json_option
def command(run: str, store: str | None, as_json: bool) -> None:
    """List every address that a run connected to, bound, listened on or sent to.

    Unix sockets are listed apart. Below are the sockets that were made, and calls on a descriptor whose
    address the call does not tell. Of a run that is still going on, what was seen so far is shown.
    """
    with open_run(run, store) as opened:
        say_if_not_sealed(opened)
        if as_json:
            print_json(net.to_json(opened))
            return
        lines = list(net.lines(opened, paint(), width=terminal_width()))
    if not lines:
        say("the run did not use the network")
    print_paged(lines)
