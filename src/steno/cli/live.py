"""`steno tail` and `steno play`: a run as it happens, and a terminal as it was."""

from __future__ import annotations

import math
import os
import select
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click
import msgspec

from steno.bundle.folder import write_all
from steno.bundle.store import LAST
from steno.cli.options import (
    chosen_store,
    complete_run,
    json_option,
    open_run,
    run_argument,
    run_path,
    store_option,
)
from steno.cli.output import paint, print_json, say, terminal_width
from steno.model.live import Happening
from steno.model.live.ending import End
from steno.model.live.following import Step
from steno.model.run import Run, RunState
from steno.model.runs import open_path, running
from steno.text.safe import utf8, visible_json
from steno.views import play, tail

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
def tail_command(run: str | None, lines: int, store: str | None, as_json: bool) -> None:
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


_STDIN, _STDOUT = 0, 1
_LOCAL_FLAGS = 3


@click.command(
    "play",
    epilog="""\b
Examples:
  steno play @last
  steno play @last --speed 4 --idle-limit 0.5
  steno play @last --idle-limit 0 | less -R
  steno play @last --json | jq -r 'select(.code == "e") | .text'

With --json each line is one moment: mono_ns (nanoseconds since the run began), code (o stdout, e stderr, i
stdin, r resize), and text, or bytes (base64) where it is not UTF-8, or cols and rows.""",
)
@run_argument
@click.option(
    "--speed", type=float, default=1.0, show_default=True, metavar="X", help="Play X times as fast."
)
@click.option(
    "--idle-limit", type=float, metavar="SECONDS", help="Make no pause longer than this; 0 for none."
)
@store_option
@json_option
def play_command(run: str, speed: float, idle_limit: float | None, store: str | None, as_json: bool) -> None:
    """Replay the terminal output of a run at the pace it was recorded.

    stdout and stderr are shown as the terminal showed them. Control-C stops. Afterwards the terminal has its
    attributes back, and what it answered to recorded control sequences is thrown away.
    """
    pace = _pace(speed, idle_limit)
    with open_run(run, store) as opened:
        if as_json:
            for moment in play.to_json(opened.moments()):
                print_json(moment)
            return
        sys.stdout.flush()
        with _stage() as stage:
            play.play(opened.moments(), stage, pace)


def _pace(speed: float, idle_limit: float | None) -> play.Pace:
    if not (math.isfinite(speed) and speed > 0):
        raise click.BadParameter("must be a number greater than 0", param_hint="--speed")
    if idle_limit is not None and not (math.isfinite(idle_limit) and idle_limit >= 0):
        raise click.BadParameter("must be 0 or more seconds", param_hint="--idle-limit")
    return play.Pace(speed, idle_limit)


@contextmanager
def _stage() -> Iterator[play.Stage]:
    def write(data: bytes) -> None:
        write_all(_STDOUT, data)

    stage = play.Stage(write, time.sleep, time.monotonic)
    if not os.isatty(_STDOUT):
        yield stage
        return
    with _quiet_keyboard():
        try:
            yield stage
        finally:
            write(play.RESET)


@contextmanager
def _quiet_keyboard() -> Iterator[None]:
    """What is typed, or answered by the terminal itself, while we play is neither shown nor kept."""
    try:
        modes = termios.tcgetattr(_STDIN)
    except termios.error:
        yield
        return
    silent = [*modes]
    silent[_LOCAL_FLAGS] &= ~termios.ECHO
    try:
        termios.tcsetattr(_STDIN, termios.TCSADRAIN, silent)
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(_STDIN, termios.TCSAFLUSH, modes)
