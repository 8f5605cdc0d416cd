"""`steno serve`: the runs of a store in a browser."""

from __future__ import annotations

import signal
import sys
import threading

import click

from steno.cli.options import existing_store, json_option, store_option
from steno.cli.output import print_json, say


@click.command(
    "serve",
    epilog="""\b
Examples:
  steno serve
  steno serve --port 8765
  steno serve --json | jq -r .url

Open the printed address in a browser on this machine. It holds a token that is new every time, and nothing is
answered without it: treat the address like a password. The site can only be read, is not reachable from other
machines, and ends with Ctrl-C. docs/serve.md tells what it refuses.""",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port to listen on (default: one that is free).",
)
@store_option
@json_option
def command(port: int, store: str | None, as_json: bool) -> None:
    """Show the runs of the store in a browser: a list, each run, a run as it happens, two runs compared.

    Prints the address and serves until Ctrl-C. A run that is going on shows what it does while it does it.
    """
    from steno.site.pages import Site  # late: other commands need no server
    from steno.site.server import Server

    place = existing_store(store).absolute()
    site = Site(place)
    serving = Server(site.answer, port)
    try:
        if as_json:
            print_json({"url": serving.url, "store": str(place)})
        else:
            click.echo(serving.url)
            empty = "" if place.is_dir() else ", where nothing is recorded yet"
            say(f"serving {place}{empty}; Ctrl-C ends it")
        sys.stdout.flush()
        _wait()
    finally:
        site.closing.set()
        serving.close()


def _wait() -> None:
    """Until somebody ends us: Ctrl-C, or a polite signal."""
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: over.set())
    over.wait()
