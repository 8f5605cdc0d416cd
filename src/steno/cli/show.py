"""`steno show`: one run, in words or as data."""

from __future__ import annotations

import click

from steno.cli.options import json_option, run_argument, run_path, store_option
from steno.cli.output import paint, print_json, print_paged, terminal_width
from steno.model.run import Run
from steno.model.runs import open_path
from steno.views import show
from steno.views.show import summary, told_files


@click.command(
    "show",
    epilog="""\b
Examples:
  steno show @last
  steno show 2026-01-25T12-00
  steno show ./2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz
  steno show @last --json | jq .repo.changes
  steno show @last --json | jq '.files["capability-surface.json"].network_endpoints'

With --json the summary has `files` beside it: processes.json, files.json, calls.json, capability-surface.json
and correlation-report.json as this Steno concludes them. Single events are in `steno events --json`, the
terminal is in `steno play --json`, contents of files are in `steno files --diff --json`.""",
)
@run_argument
@store_option
@json_option
def command(run: str, store: str | None, as_json: bool) -> None:
    """Say what one run was and did.

    Begins with the state of the record itself: sealed and complete, sealed with gaps, or not sealed. A run
    that is still going on, or whose recorder was killed, shows the facts so far. RUN is the id of a run, a
    unique beginning of one, a path (a directory or a packed bundle), or @last.

    On a terminal, what is longer than the screen goes through $STENO_PAGER, else $PAGER, else less; an empty
    one says that no pager is wanted. NO_COLOR, CLICOLOR and CLICOLOR_FORCE are heeded.
    """
    path = run_path(run, store)
    with Run(open_path(path)) as opened:
        found = summary(opened, path.absolute())
        if as_json:
            print_json({**found, "files": told_files(opened)})
            return
    print_paged(show.lines(found, paint(), width=terminal_width()))
