"""`steno restore`: files as a run left them."""

from __future__ import annotations

import click

from steno.cli.options import json_option, run_argument, store_option
from steno.cli.putting_back import dry_run_option, force_option, paths_argument, put_back
from steno.restore.tasks import Direction


@click.command(
    "restore",
    epilog="""\b
Exit codes:
  0  everything that the record keeps is as the run left it
  1  something stands in the way: nothing was changed (with --force: all but what is named)

\b
Examples:
  steno restore @last --dry-run
  steno restore @last
  steno restore ./2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz build/report.txt""",
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
    """Bring files back to what a run left.

    Files whose content the record holds are written, what the run deleted is removed, links and directories
    that it changed are made again. Files that were only read and are in git are left alone. What is neither
    as the run found it nor as the run left it is a conflict: nothing is changed then, unless with --force.
    """
    return put_back(Direction.RESTORE, run, paths, store, dry_run=dry_run, force=force, as_json=as_json)
