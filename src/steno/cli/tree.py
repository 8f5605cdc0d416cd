"""`steno tree`: the processes of a run."""

from __future__ import annotations

import click

from steno.cli.options import json_option, open_run, run_argument, say_if_not_sealed, store_option
from steno.cli.output import paint, print_json, print_paged, terminal_width
from steno.views import tree


@click.command(
    "tree",
    epilog="""\b
Columns:
  EXIT      exit code, or the signal that ended it; `alive`: it was still running when the command had
            ended; `?`: its end was not seen
  TIME      from its first to its last moment; for several processes, of all of them together
  FILES     files that came out changed, and that it had opened to write or had changed itself
  PROCESS   what it executed last: `a → b` says that it was `a` before. `(sh, forked)` executed nothing
            and went on as a copy of its parent. `prog (as words)` calls itself by another name.

\b
Examples:
  steno tree @last
  steno tree @last --all | grep cc1
  steno tree @last --json | jq '.processes[] | select(.exit.code != 0) | .execs[-1].argv'

With --json the processes are a flat list in the order they appeared; `parent` is the number of another
process, or 0 when the recorder started it or its parent is not known.""",
)
@run_argument
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Give every process a line, those of Steno's own hooks too; collapse nothing.",
)
@store_option
@json_option
def command(run: str, every: bool, store: str | None, as_json: bool) -> None:
    """Show the processes of a run as a tree: what each one executed, and how it ended.

    Arguments are recorded without their secrets. Processes that did the same, with all they started, share
    one line (`500 x`); of many that ran one program with different arguments the first ones are shown, and
    the others counted. On a terminal a line is cut to its width. Of a run that is still going on, what was
    seen so far is shown.
    """
    with open_run(run, store) as opened:
        say_if_not_sealed(opened)
        if as_json:
            print_json(tree.to_json(opened))
        else:
            print_paged(tree.lines(opened, paint(), width=terminal_width(), every=every))
