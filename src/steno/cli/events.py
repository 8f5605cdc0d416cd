"""`steno events`: what the kernel saw, event by event."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click
import msgspec

from steno.cli.options import json_option, open_run, run_argument, say_if_not_sealed, store_option
from steno.cli.output import paint, print_paged, terminal_width
from steno.evidence.wire import OPS
from steno.model.events import Wanted, to_json
from steno.text.safe import visible_json
from steno.views import events

_OPERATIONS = [op.name for op in OPS.values()]
_CATEGORIES = sorted({op.category for op in OPS.values()})


@click.command(
    "events",
    epilog="""\b
A line: seconds since the run began, number of the process (as in `steno tree`), operation, path or address,
what the operation says beside it, the error if one is known, and in square brackets what is special.

\b
Examples:
  steno events @last --limit 20
  steno events @last --op exec
  steno events @last --category net
  steno events @last --process 3 --path '*/config/*'
  steno events @last --path 'inet:*:443' --json | jq -r .mono_ns

With --json each line is one event: mono_ns, process, tid, op, category, call (the system call), path (as
it was asked for), resolved (links followed), extra, result (ok, unknown or the error), notes, arg, arg2, and
state (what was found there before the call). A name that is not UTF-8 has its bytes beside it, as base64.""",
)
@run_argument
@click.option("--op", type=click.Choice(_OPERATIONS), metavar="OP", help="Only this operation, such as open.")
@click.option("--process", type=click.IntRange(0, 2**31 - 1), metavar="N", help="Only process number N.")
@click.option("--path", metavar="GLOB", help="Only paths or addresses like this; * stands for any letters.")
@click.option("--category", type=click.Choice(_CATEGORIES), help="Only events of this kind.")
@click.option("--all", "every", is_flag=True, help="Also those of Steno's own hooks.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Stop after N events.")
@store_option
@json_option
def command(
    run: str,
    op: str | None,
    process: int | None,
    path: str | None,
    category: str | None,
    every: bool,
    limit: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Print every event that the kernel observer saw, in order.

    Nothing is summed up, and nothing left out but what Steno's own hooks did; `steno tree`, `steno files` and
    `steno net` are made of these. The options choose, and only what meets all of them is printed. Of a run
    that is still going on, what was seen so far is shown.
    """
    with open_run(run, store) as opened:
        say_if_not_sealed(opened)
        pattern = None if path is None else os.fsencode(path)
        wanted = Wanted(op, process, pattern, category, limit, hooks=every)
        rows = opened.recorded_calls(wanted)
        if as_json:
            _print_objects(to_json(row) for row in rows)
        else:
            colours, width = paint(), terminal_width()
            print_paged(events.line(row, colours, width=width) for row in rows)


def _print_objects(objects: Iterable[dict[str, object]]) -> None:
    """There may be millions, so they are written as they are, without a check of each."""
    encode = msgspec.json.Encoder(order="sorted").encode
    on_terminal = sys.stdout.isatty()
    for one in objects:
        text = encode(one)
        if on_terminal:
            click.echo(visible_json(text.decode()))
        else:
            sys.stdout.buffer.write(text + b"\n")
