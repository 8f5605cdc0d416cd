"""`steno baseline`: a lock file of what runs did, to compare later runs with."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from steno.cli.capability_inputs import read_run
from steno.cli.options import json_option, runs_argument, store_option
from steno.cli.output import print_json, print_path, say
from steno.compare import sides
from steno.errors import BadRequestError
from steno.export.atomic import place_file


@click.command(
    "baseline",
    epilog="""\b
Examples:
  steno baseline @last > capability.lock
  steno baseline run-1.tar.gz run-2.tar.gz -o capability.lock
  steno diff capability.lock @last

\b
Exit codes:
  0  the lock was made
  3  the evidence of a run is degraded: something may be missing from it
  4  a run cannot be used: invalid, not sealed, not a bundle

The same runs give the same bytes, in whatever order they are named. A file that is there already and
differs is not overwritten without --force. The lock names the root of every bundle it was made from.""",
)
@runs_argument
@click.option("-o", "--output", metavar="FILE", help="Where to write (default: stdout).")
@click.option("--force", is_flag=True, help="With -o: replace the file that is there.")
@click.option(
    "--project/--no-project",
    "projected",
    default=True,
    help="Write $RUN_CWD, $HOME and $TMP for the directories of each run (default), or do not.",
)
@click.option(
    "--accept-partial", is_flag=True, help="Take runs whose evidence is degraded; the lock says so."
)
@store_option
@json_option
def command(
    runs: tuple[str, ...],
    output: str | None,
    force: bool,
    projected: bool,
    accept_partial: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Make a lock file of all that one or more runs touched, reached and started.

    Every bundle is verified first. With -o the name of the file is printed, or with --json its digest.
    """
    if not runs:
        raise BadRequestError(
            "there is no RUN to make a baseline of", hint="name one, as in `steno baseline @last`"
        )
    if force and not output:
        raise BadRequestError("--force goes with -o FILE", hint="name the file with -o FILE")
    made = sides.make(
        [read_run(word, store) for word in runs], projected=projected, accept_partial=accept_partial
    )
    if made.evidence == "degraded":
        say("the evidence is degraded, and the lock says so: no run will compare as equal with it")
    if output is None:
        print_json(msgspec.to_builtins(made))
        return
    target = Path(output).absolute()
    placed = place_file(target, lambda out: out.write(sides.to_bytes(made)), replace=force)
    if as_json:
        print_json({**placed._asdict(), "path": str(target), "sources": msgspec.to_builtins(made.sources)})
    else:
        print_path(target)
