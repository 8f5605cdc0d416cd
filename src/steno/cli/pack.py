"""`steno pack`: one file of a sealed run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from steno.cli.options import json_option, open_run, run_argument, store_option
from steno.cli.output import print_json, print_path, say
from steno.errors import BadRequestError
from steno.export.atomic import place_file
from steno.model.trust import trusted

STDOUT = "-"


@click.command(
    "pack",
    epilog="""\b
Examples:
  steno pack @last
  steno pack @last -o /tmp/evidence.tar.gz
  steno pack @last -o - | ssh host 'cat > run.tar.gz'

The same bundle gives the same bytes every time, so a file that is there already is fine if it is the same;
one that differs is never overwritten. `steno verify`, `steno show` and `steno play` read the packed file.""",
)
@run_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The file, a directory, or - for stdout (default: <run_id>.tar.gz).",
)
@store_option
@json_option
def command(run: str, output: str | None, store: str | None, as_json: bool) -> None:
    """Make one file of a sealed run, and print its name.

    The bundle is verified first; an invalid one is refused.
    """
    if output == STDOUT and (as_json or os.isatty(1)):
        raise BadRequestError(
            "a packed run cannot be written to a terminal, or beside --json", hint="name a file with -o FILE"
        )
    with open_run(run, store) as opened:
        verdict = trusted(opened)
        if output == STDOUT:
            opened.pack(sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        target = _target(output, f"{verdict.run_id}.tar.gz")
        placed = place_file(target, opened.pack)
    if verdict.gaps:
        say(f"the record is incomplete: {', '.join(verdict.gaps)}")
    if as_json:
        print_json({**placed._asdict(), "path": str(target), "run_id": verdict.run_id, "root": verdict.root})
    else:
        print_path(target)


def _target(output: str | None, name: str) -> Path:
    path = Path(output or name).absolute()
    return path / name if path.is_dir() else path
