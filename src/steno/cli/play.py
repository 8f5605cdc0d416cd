"""`steno play`: replay the terminal of a run."""

from __future__ import annotations

import math
import os
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from steno.bundle.folder import write_all
from steno.cli.options import json_option, open_run, run_argument, store_option
from steno.cli.output import print_json
from steno.views import play

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
def command(run: str, speed: float, idle_limit: float | None, store: str | None, as_json: bool) -> None:
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
