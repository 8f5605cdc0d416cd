"""`steno undo` and `steno restore`: files as they were before a run, or as it left them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import click

from steno.cli.options import chosen_store, json_option, open_run, recorded_path, run_argument, store_option
from steno.cli.output import print_json, print_lines, say, say_hint, say_if_incomplete
from steno.restore.outcome import (
    Outcome,
    not_kept_lines,
    plan_lines,
    problem_lines,
    summary_line,
    to_json,
    trash_lines,
)
from steno.restore.plan import Plan
from steno.restore.put_back import put_back
from steno.restore.tasks import Direction
from steno.text.safe import visible

paths_argument = click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=bytes))
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
force_option = click.option(
    "--force", is_flag=True, help="Overwrite what was changed since; skip what is impossible."
)


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
def undo_command(
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
    return _put_back(Direction.UNDO, run, paths, store, dry_run=dry_run, force=force, as_json=as_json)


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
def restore_command(
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
    return _put_back(Direction.RESTORE, run, paths, store, dry_run=dry_run, force=force, as_json=as_json)


def _put_back(
    direction: Direction,
    run: str,
    paths: Sequence[bytes],
    store: str | None,
    *,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    chosen = [recorded_path(path) for path in paths]
    with open_run(run, store) as opened:
        place = chosen_store(store)
        outcome, verdict = put_back(direction, opened, chosen, place, dry_run=dry_run, force=force)
    say_if_incomplete(verdict.gaps)
    if as_json:
        print_json(to_json(outcome, verdict.run_id))
    elif dry_run:
        print_lines(visible(line) for line in chain(plan_lines(outcome.plan), not_kept_lines(outcome)))
    else:
        _tell(outcome)
    return outcome.exit_code


def _tell(outcome: Outcome) -> None:
    plan = outcome.plan
    for word, problems in (
        ("conflict", plan.conflicts),
        ("impossible", plan.impossible),
        ("overruled", plan.overruled),
        ("failed", outcome.failed or []),
        ("note", plan.notes),
    ):
        for line in problem_lines(word, problems):
            say(line)
    for line in not_kept_lines(outcome):
        say(line)
    if outcome.failed is None:
        say("nothing was changed")
        say_hint(f"--dry-run shows the whole plan; --force {' and '.join(_what_force_does(plan))}")
    else:
        print_lines([visible(summary_line(outcome)), *(visible(line) for line in trash_lines(outcome))])


def _what_force_does(plan: Plan) -> list[str]:
    said = {
        "overwrites what was changed since": plan.conflicts,
        "leaves out what is impossible": plan.impossible,
    }
    return [words for words, problems in said.items() if problems]
