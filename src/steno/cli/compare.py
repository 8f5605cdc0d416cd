"""`steno diff` and `steno baseline`: what one run did that another, or a baseline, did not."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from steno.cli.options import complete_run, json_option, run_path, runs_argument, store_option
from steno.cli.output import paint, print_json, print_paged, print_path, say, terminal_width
from steno.compare import comparison, sides
from steno.compare.inputs import read_rules, read_run, read_side
from steno.errors import BadRequestError
from steno.export import sarif
from steno.export.atomic import place_file
from steno.views import diff

FORMATS = ("text", "json", "markdown", "sarif")


@click.command(
    "diff",
    epilog="""\b
Verdicts and exit codes:
  0  same, removed   B did nothing that A did not
  1  added           B did something that A did not
  2                  the command line or the file of rules is wrong, or there is no such run
  3  inconclusive    nothing was seen to be added, and the evidence on one side is degraded
  4                  A or B cannot be used: invalid, not sealed, neither a bundle nor a lock

\b
Examples:
  steno diff 2026-01-25T12 @last
  steno diff capability.lock @last --ignore ignore.yaml
  steno diff capability.lock run.tar.gz --format markdown > comment.md
  steno diff capability.lock @last --json | jq -r '.categories["files.written"].added[].entry'

What only ever failed is compared apart, and is never an addition. docs/diff.md tells all of it.""",
)
@click.argument("a", metavar="A", shell_complete=complete_run)
@click.argument("b", metavar="B", shell_complete=complete_run)
@click.option("--ignore", "rules_file", metavar="FILE", help="Rules of what does not matter, in YAML.")
@click.option(
    "--project/--no-project",
    "projected",
    default=None,
    help="Write $RUN_CWD, $HOME and $TMP for the directories of each run (default, unless a lock does not).",
)
@click.option("--by-name", is_flag=True, help="Compare endpoints by DNS name, where one was seen.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="How to print it (default: text).")
@store_option
@json_option
def diff_command(
    a: str,
    b: str,
    rules_file: str | None,
    projected: bool | None,
    by_name: bool,
    form: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Compare what two runs touched, reached and started.

    A and B are each a run, a packed bundle, an archive of `steno export --as assay-runner`, or a lock file
    that `steno baseline` made. Bundles and archives are verified first. B is judged: what it did and A did
    not is an addition. Evidence that is degraded never passes as equal.
    """
    if as_json and form not in {None, "json"}:
        raise BadRequestError(f"--json and --format {form} exclude each other", hint="choose one of them")
    rules = read_rules(rules_file)
    one, other = sides.pair(
        read_side(a, run_path(a, store)), read_side(b, run_path(b, store)), projected=projected
    )
    found = comparison.compare(one, other, rules, by_name=by_name)
    if as_json or form == "json":
        print_json(comparison.to_json(found))
    elif form == "sarif":
        print_json(sarif.to_json(found))
    elif form == "markdown":
        click.echo(diff.text(found), nl=False)
    else:
        print_paged(diff.lines(found, paint(), width=terminal_width()))
    return found.exit_code


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
def baseline_command(
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
        [read_run(run_path(word, store)) for word in runs], projected=projected, accept_partial=accept_partial
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
