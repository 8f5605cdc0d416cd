"""`steno tail`: a run as it happens."""

from __future__ import annotations

import select
import sys
from typing import Any

import click
import msgspec

from steno.bundle.store import LAST
from steno.cli.options import chosen_store, complete_run, json_option, run_path, store_option
from steno.cli.output import paint, say, terminal_width
from steno.model.live import Happening
from steno.model.live.ending import End
from steno.model.live.following import Step
from steno.model.run import Run, RunState
from steno.model.runs import open_path, running
from steno.text.safe import utf8, visible_json
from steno.views import tail

_PAUSE_MS = 200
_MOST_AT_ONCE = 1000
_LINES = 20


@click.command(
    "tail",
    epilog="""\b
A line: seconds since the run began, the process that did it (program and number, as in `steno tree`), and
what it did: programs that start and end, files that change, addresses, calls of tools and what policy
decided of them, and the events of the run. Reading and looking are not shown; `steno events` has them when
the run is sealed.

\b
Examples:
  steno tail                   the run that is going on, or the last one
  steno tail @last -n 100
  steno tail --json | jq -r 'select(.what == "net") | .subject'

With --json each line is one object: at_ns (nanoseconds since the run began), what (process, file, net, call
or run), word, subject, detail, process, program, bad, times. passed_over says how much was left out; the last
line is the end, with the state of the record. Secrets are masked as they will be in the record. Ctrl-C ends
the watching, never the run.""",
)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=complete_run)
@click.option(
    "-n",
    "--lines",
    "lines",
    type=click.IntRange(0, 100_000),
    default=_LINES,
    show_default=True,
    metavar="N",
    help="Begin with the last N things that happened.",
)
@store_option
@json_option
def command(run: str | None, lines: int, store: str | None, as_json: bool) -> None:
    """Show what a run does while it does it.

    Begins with the last things that happened, then follows until the run has ended, and says how. Of a run
    that is over it prints the last things and how it ended. Without RUN it is the run that is going on, or,
    when there is none or more than one, the last one.
    """
    path = run_path(run or _running(store) or LAST, store)
    printer = _Json() if as_json else _Lines()
    with Run(open_path(path)) as opened:
        if opened.state in {RunState.SEALED, RunState.DAMAGED}:  # what is wrong with a damaged one is told
            printer.show(Step(*opened.last_happenings(lines)), before=True)
            printer.end(opened.ending(RunState.SEALED))
        else:
            printer.end(_follow(opened, printer, lines))


def _running(store: str | None) -> str | None:
    """The only run that is going on."""
    found = running(chosen_store(store))
    return found[0] if len(found) == 1 else None


def _follow(run: Run, printer: _Lines, lines: int) -> End:
    with run.follow() as run_now:
        step = run_now.look(lines)
        printer.show(step, before=True)
        if run_now.why_no_kernel is not None:
            say(f"what the kernel sees of this run cannot be followed: {run_now.why_no_kernel}")
        while step.ended is None:
            _wait()
            step = run_now.look(_MOST_AT_ONCE)
            printer.show(step, before=False)
        return run.ending(step.ended)


def _wait() -> None:
    """Until the next look, or until whoever reads our output has gone."""
    gone = select.poll()
    gone.register(1, 0)
    if any(event & select.POLLERR for _, event in gone.poll(_PAUSE_MS)):
        raise BrokenPipeError


class _Lines:
    def __init__(self) -> None:
        self._paint = paint()

    def show(self, step: Step, *, before: bool) -> None:
        if step.passed_over:
            self.passed_over(step.passed_over, before=before)
        for one in step.happenings:
            self.happening(one)
        sys.stdout.flush()

    def passed_over(self, count: int, *, before: bool) -> None:
        click.echo(
            self._paint("faint", tail.passed_over(count, before=before, width=terminal_width())),
            color=True,
        )

    def happening(self, one: Happening) -> None:
        click.echo(tail.line(one, self._paint, width=terminal_width()), color=True)

    def end(self, end: End) -> None:
        click.echo(tail.ending(end, self._paint), color=True)


class _Json(_Lines):
    def passed_over(self, count: int, *, before: bool) -> None:
        self._write({"what": "passed_over", "count": count, "before": before})

    def happening(self, one: Happening) -> None:
        self._write(one.to_json())

    def end(self, end: End) -> None:
        self._write(end.to_json())

    def _write(self, value: dict[str, Any]) -> None:
        told = msgspec.json.encode(utf8(value), order="sorted").decode()
        click.echo(visible_json(told) if sys.stdout.isatty() else told)
