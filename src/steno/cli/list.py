"""`steno list`: the runs of the store, newest first."""

from __future__ import annotations

import time

import click

from steno.cli.options import existing_store, json_option, store_option
from steno.cli.output import paint, print_json, print_paged, say, say_hint, terminal_width
from steno.model import runs
from steno.views import list as listing


@click.command(
    "list",
    epilog="""\b
States:
  sealed     the record is finished; `steno verify` checks it
  running    its recorder is alive
  orphaned   its recorder was killed, and its command goes on; when that has ended, `steno recover` seals it
  unsealed   its recorder was killed; `steno recover` seals what was recorded
  damaged    it cannot be read; `steno verify` says why

\b
Examples:
  steno list --limit 10
  steno list --json | jq -r '.runs[] | select(.exit_code != 0) | .run_id'""",
)
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Show the newest N runs only (0: all).")
@store_option
@json_option
def command(limit: int | None, store: str | None, as_json: bool) -> None:
    """List the recorded runs, newest first.

    AGE is how long ago a run began, TIME how long it took, EXIT the command's exit code (128+n when signal
    n ended it). A line is cut to the width of the terminal; a narrow one has two lines a run.
    """
    place = existing_store(store)
    rows = list(runs.rows(place, limit or None))
    if as_json:
        print_json({"store": str(place.absolute()), "runs": [listing.to_json(row) for row in rows]})
        return
    if not rows:
        say(f"no runs in {place} yet")
        say_hint("record one with `steno run -- COMMAND`")
    print_paged(
        listing.table(rows, width=terminal_width(), now_ms=time.time_ns() // 1_000_000, paint=paint())
    )
