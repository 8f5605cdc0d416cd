"""`steno diff`: what one run did that another, or a baseline, did not."""

from __future__ import annotations

import click

from steno.cli.capability_inputs import read_rules, read_side
from steno.cli.options import complete_run, json_option, store_option
from steno.cli.output import paint, print_json, print_paged, terminal_width
from steno.compare import comparison, sides
from steno.errors import BadRequestError
from steno.export import sarif
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
def command(
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
    one, other = sides.pair(read_side(a, store), read_side(b, store), projected=projected)
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
