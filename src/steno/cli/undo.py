"""`steno undo`: files as they were before a run."""

from __future__ import annotations

import click

from steno.cli.options import json_option, run_argument, store_option
from steno.cli.putting_back import dry_run_option, force_option, paths_argument, put_back
from steno.restore.tasks import Direction


@click.command(
    "undo",
    epilog="""\b
Exit codes:
  0  everything that the record keeps is as it was before the run
  1  something stands in the way: nothing was changed (with --force: all but what is named)

\b
Examples:
  steno undo @last --dry-run
  steno undo @last
  steno undo @last src/ notes.txt
  steno undo @last --json | jq .conflicts""",
)
@run_argument
@paths_argument
@dry_run_option
@force_option
@store_option
@json_option
def command(
    run: str,
    paths: tuple[bytes, ...],
    dry_run: bool,
    force: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Bring files back to what they were before a run.

    What the run created is removed, what it deleted or changed is brought back, with modes, times and links;
    with PATHs only those, and what is below them. If any of it was changed since the run, or is not in the
    record, nothing is changed. With --force what was changed since is overwritten, and what is impossible is
    skipped and named. A directory that holds something the record does not know is never removed. What the
    run changed where no state is kept (ignored paths, inside .git) is named as not undone.
    """
    return put_back(Direction.UNDO, run, paths, store, dry_run=dry_run, force=force, as_json=as_json)
