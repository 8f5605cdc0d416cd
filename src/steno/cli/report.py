"""`steno report`: a run as one page, or as a comment."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from steno.cli.options import json_option, open_run, run_argument, store_option
from steno.cli.output import place_of_file, print_json, print_path, say
from steno.errors import BadRequestError
from steno.export.atomic import place_file
from steno.model.run import Run
from steno.report.overview import Subject, subject_of
from steno.text.markdown import MAX_CHARACTERS as MOST

STDOUT = "-"
_REASONS_SHOWN = 3


@click.command(
    "report",
    epilog="""\b
Examples:
  steno report @last
  steno report @last -o /tmp/run.html && xdg-open /tmp/run.html
  steno report ./2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz -o - > run.html
  steno report @last --markdown | gh pr comment --body-file -

The page asks the network for nothing. It carries the evidence of the record byte for byte, which the browser
that shows it checks against the root, and what this Steno concludes from it, which `steno verify` of the page
concludes again. A record that is invalid, incomplete or not sealed gets a page too, which says so first; a
message says so here.

The same record gives the same bytes every time, so a file that is there already is fine if it is the same;
one that differs is never overwritten. With --markdown the text begins with `<!-- steno:report -->`, so that a
comment can be found and replaced.""",
)
@run_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The file, a directory, or - for stdout (default: steno-<run_id>.html; with --markdown stdout).",
)
@click.option("--markdown", is_flag=True, help="Write Markdown for a comment.")
@click.option(
    "--most",
    type=click.IntRange(10_000, MOST),
    default=MOST,
    show_default=True,
    metavar="N",
    help="With --markdown: at most so many characters, to leave room for something else in the comment.",
)
@store_option
@json_option
def command(
    run: str, output: str | None, markdown: bool, most: int, store: str | None, as_json: bool
) -> None:
    """Make one HTML file of a run that any browser shows without a server, and print its name."""
    output = output or (STDOUT if markdown else None)
    if output == STDOUT and (as_json or (not markdown and os.isatty(1))):
        raise BadRequestError(
            "a page cannot be written to a terminal, or beside --json", hint="name a file with -o FILE"
        )
    with open_run(run, store) as opened:
        subject = subject_of(opened)
        blocks = _markdown(opened, subject, most) if markdown else _page(opened, subject)
        if output == STDOUT:
            sys.stdout.buffer.writelines(blocks)
            sys.stdout.buffer.flush()
        else:
            target = place_of_file(
                output, f"steno-{subject.run_id or 'record'}.{'md' if markdown else 'html'}"
            )
            placed = place_file(target, lambda out: out.writelines(blocks))
    if subject.status != "valid":
        from steno.report.overview import word  # late: only who has something to say needs it

        why = [one for one in (*subject.problems, *subject.gaps) if one != word(subject)][:_REASONS_SHOWN]
        say(f"the record is {word(subject)}{': ' if why else ''}{'; '.join(why)}")
    if output == STDOUT:
        return
    if as_json:
        print_json(
            {**placed._asdict(), "path": str(target), "run_id": subject.run_id, "status": subject.status}
        )
    else:
        print_path(target)


def _page(run: Run, subject: Subject) -> Iterable[bytes]:
    from steno.report.page import document  # late: only a page needs the front end

    return document(run, subject)


def _markdown(run: Run, subject: Subject, most: int) -> Iterable[bytes]:
    from steno.report.markdown import markdown  # late: only a comment needs it

    return [markdown(run, subject, most).encode()]
