"""`steno export` and `steno pack`: a sealed run in another format, or as one file."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from steno.cli.options import json_option, open_run, run_argument, store_option
from steno.cli.output import place_of_file, print_json, print_path, say, say_if_incomplete
from steno.errors import BadRequestError, StoreError
from steno.export import FORMATS, directory_of, export_named
from steno.export.atomic import place_file
from steno.model.trust import trusted


@click.command(
    "export",
    epilog="""\b
Formats:
  agent-audit     <run_id>/.audit/: streams, terminal, trace of writes, files before and after, meta
  agent-snapshot  manifest.json with every file before and after, blobs.parquet with contents
  asciicast       steno-<run_id>.cast: the terminal, for asciinema and its player
  assay-runner    assay-runner-spike-<run_id>.tar.gz: kernel events, surface, health, correlation
  capture-run     artifacts/capture_run/<run_id>/: env.json, events.jsonl, hashes.json, patch
  otlp            steno-<run_id>.otlp.jsonl: the run, its processes and tool calls as OpenTelemetry spans
  perfetto        steno-<run_id>.perfetto.json: a Chrome trace, for ui.perfetto.dev
  sqlite          steno-<run_id>.sqlite: the tables of the run, for sqlite3 and datasette
  tables          steno-<run_id>-tables/: the same as Parquet and as lines of JSON

\b
Examples:
  steno export @last --as capture-run
  steno export @last --as capture-run -o /tmp/evidence
  steno export @last --as agent-snapshot --snapshot-dir ./snapshot
  steno export @last --as assay-runner && steno verify assay-runner-spike-*.tar.gz
  steno export @last --as perfetto -o traces
  steno export @last --as sqlite && sqlite3 steno-*.sqlite 'SELECT path FROM files WHERE letter = "M"'
  curl -H 'Content-Type: application/json' --data-binary @steno-….otlp.jsonl localhost:4318/v1/traces

An agent-snapshot is the directory DIR itself; the others write below DIR. A content that holds a secret is
masked in an agent-snapshot, or left out where that cannot be done for sure.

A bundle is verified first. An invalid one is refused, because the export would make its forged facts look
sound; an incomplete one is exported as it is, and the export says that it is incomplete.""",
)
@run_argument
@click.option("--as", "name", required=True, type=click.Choice(sorted(FORMATS)), help="The format to write.")
@click.option(
    "-o",
    "--output",
    "--snapshot-dir",
    "output",
    metavar="DIR",
    help="Where to write; DIR itself is made, nothing above it (default: the current directory; for "
    "agent-snapshot ./snapshot-<run_id>).",
)
@store_option
@json_option
def export_command(run: str, name: str, output: str | None, store: str | None, as_json: bool) -> None:
    """Write a sealed run in another format, and print where it was written.

    Exporting again gives the same bytes; what is there already and differs is never overwritten.
    """
    if output == "-":
        raise BadRequestError(
            "an export is not written to stdout", hint="name a directory with -o DIR; `-o ./-` is one named -"
        )
    export = export_named(name)
    with open_run(run, store) as opened:
        verdict = trusted(opened)
        place = Path(output) if output else directory_of(name, verdict.run_id or "")
        _require_parent(place.absolute())
        written = export(opened, place.absolute())
    for note in written.notes:
        say(note)
    say_if_incomplete(verdict.gaps)
    if as_json:
        print_json(
            {"as": name, "path": str(written.path), "run_id": verdict.run_id, "status": str(verdict.status)}
        )
    else:
        print_path(written.path)


def _require_parent(place: Path) -> None:
    """The directory is made for the user, but not those above it: a mistyped one would hide the export."""
    try:
        place.parent.stat()
    except OSError as error:
        raise StoreError(
            f"cannot write {place}: {place.parent}: {error.strerror}",
            hint=f"`mkdir -p {shlex.quote(str(place.parent))}`, or choose another place with -o DIR",
        ) from error


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
def pack_command(run: str, output: str | None, store: str | None, as_json: bool) -> None:
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
        target = place_of_file(output, f"{verdict.run_id}.tar.gz")
        placed = place_file(target, opened.pack)
    say_if_incomplete(verdict.gaps)
    if as_json:
        print_json({**placed._asdict(), "path": str(target), "run_id": verdict.run_id, "root": verdict.root})
    else:
        print_path(target)
