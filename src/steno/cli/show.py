"""`steno show`: one run, in words or as data."""

from __future__ import annotations

import click

from steno.cli.opening import (
    json_option,
    open_path,
    paint,
    print_json,
    print_lines,
    run_argument,
    run_path,
    store_option,
)
from steno.views import summary_text
from steno.views.record import open_record
from steno.views.summary import summary


@click.command(
    "show",
    epilog="""\b
Examples:
  steno show @last
  steno show 2026-01-25T12-00
  steno show ./2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz
  steno show @last --json | jq .repo.changes""",
)
@run_argument
@store_option
@json_option
def command(run: str, store: str | None, as_json: bool) -> None:
    """Say what one run was and did.

    Begins with the state of the record itself: sealed and complete, sealed with gaps, or not sealed. A run
    that is still going on, or whose recorder was killed, shows the facts so far. RUN is the id of a run, a
    unique beginning of one, a path (a directory or a packed bundle), or @last.
    """
    path = run_path(run, store)
    with open_path(path) as folder, open_record(folder) as record:
        found = summary(record, path.absolute())
    if as_json:
        print_json(found)
    else:
        print_lines(summary_text.lines(found, paint()))
