"""`steno export`: a sealed run in another format."""

from __future__ import annotations

from pathlib import Path

import click

from steno.cli.opening import json_option, open_run, print_json, print_path, run_argument, say, store_option
from steno.views.export import FORMATS, export_named, trusted


@click.command(
    "export",
    epilog="""\b
Formats:
  capture-run   artifacts/capture_run/<run_id>/: env.json, events.jsonl, hashes.json, patch

\b
Examples:
  steno export @last --as capture-run
  steno export @last --as capture-run -o /tmp/evidence

A bundle is verified first. An invalid one is refused, because the export would make its forged facts look
sound; an incomplete one is exported as it is, and the export says that it is incomplete.""",
)
@run_argument
@click.option("--as", "name", required=True, type=click.Choice(sorted(FORMATS)), help="The format to write.")
@click.option("-o", "--output", metavar="DIR", help="Write below DIR (default: the current directory).")
@store_option
@json_option
def command(run: str, name: str, output: str | None, store: str | None, as_json: bool) -> None:
    """Write a sealed run in another format, and print where it was written.

    Exporting again gives the same bytes; what is there already and differs is never overwritten.
    """
    export = export_named(name)
    with open_run(run, store) as folder:
        verdict = trusted(folder)
        written = export(folder, Path(output or ".").absolute())
    if verdict.gaps:
        say(f"the record is incomplete: {', '.join(verdict.gaps)}")
    if as_json:
        print_json(
            {"as": name, "path": str(written), "run_id": verdict.run_id, "status": str(verdict.status)}
        )
    else:
        print_path(written)
