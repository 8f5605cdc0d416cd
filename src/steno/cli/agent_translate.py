"""`steno agent translate`, and how a translation is shown after an attempt.

In: an attempt. Out: its translation on stdout. After an attempt the agent's exit code is what the caller is
owed: an output that cannot be written to changes nothing of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from steno.cli.output import say

if TYPE_CHECKING:
    from steno.launch.translate import Attempt


@click.command(
    "translate",
    epilog="""\b
Examples:
  steno agent translate 3fa1c2d4
  steno agent translate 3fa1c2d4 --attempt 1 --level 2 | jq -r .type

It is made from the audit files and nothing else, so it says the same as `steno agent start --translate` did
after the attempt, at whatever level that was.""",
)
@click.argument("selector", metavar="SEL")
@click.option("--attempt", type=click.IntRange(min=1), help="Which attempt (default: the last that is over).")
@click.option(
    "--level",
    type=click.IntRange(1, 3),
    default=3,
    show_default=True,
    help="1: what was understood, as JSON lines; 2: messages in fcmp/1.0 envelopes; 3: Markdown.",
)
def command(selector: str, attempt: int | None, level: int) -> None:
    """Say what an agent said in an attempt that is over."""
    from steno.capture.host import original_environment
    from steno.launch.run_dirs import agents_root
    from steno.launch.status import attempt_left

    show(attempt_left(agents_root(original_environment()), selector, attempt), level)


def show(attempt: Attempt, level: int) -> None:
    from steno.launch.translate import translate

    for piece in translate(attempt, level):
        click.echo(piece, nl=False)


@contextmanager
def output_may_be_gone() -> Iterator[None]:
    """Whoever read our output may have gone, its disk may be full: it is told if it can be; nothing fails."""
    try:
        yield
        _flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        try:
            if not isinstance(error, BrokenPipeError):
                say(f"not all could be shown: {error.strerror}")
            _flush()
        except OSError:
            os.dup2(nowhere, 2)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it is, when it was closed before we began
            stream.flush()
