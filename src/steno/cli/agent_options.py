"""The options that `steno agent start` and `steno agent resume` have, and where they may stand."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

import click

from steno.capture.observer import AUTO, WISHES
from steno.errors import BadRequestError

_Decorated = Callable[..., Any]
_WATCHING = (
    click.option(
        "--translate",
        type=click.Choice(["0", "1", "2", "3"]),
        default="0",
        show_default=True,
        help="What is shown. 0: the agent's terminal while it runs. Above, nothing while it runs, and then "
        "1: what was understood, as JSON lines; 2: messages in fcmp/1.0 envelopes; 3: Markdown.",
    ),
    click.option(
        "--observer",
        type=click.Choice([*WISHES, "strace"]),
        default=AUTO,
        show_default=True,
        help="Who watches, as in `steno run`; strace: the chain of script and strace, which tells stdout "
        "from stderr and nothing else.",
    ),
)
_ASKED_FOR = (
    click.option("--policy", metavar="FILE", help="Put the agent's MCP servers behind this policy."),
    click.option(
        "--hooks", is_flag=True, help="Let the agent's hooks tell the recorder what it says it does."
    ),
)
_AS_BEFORE = (
    click.option(
        "--policy",
        metavar="FILE",
        help="Put the agent's MCP servers behind this policy (default: that of the attempt before).",
    ),
    click.option("--no-policy", is_flag=True, help="Give the agent's MCP servers their own commands again."),
    click.option(
        "--hooks/--no-hooks",
        default=None,
        help="Whether the agent's hooks tell the recorder what it says it does (default: as in the attempt "
        "before).",
    ),
)
_KEEPING = (
    click.option("--store", metavar="DIR", help="Keep the recording in DIR (default: see `steno doctor`)."),
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Show nothing of the agent; print one JSON object on stdout when it has ended.",
    ),
)


def start_options(function: _Decorated) -> _Decorated:
    return _with(function, (*_WATCHING, *_ASKED_FOR, *_KEEPING))


def resume_options(function: _Decorated) -> _Decorated:
    return _with(function, (*_WATCHING, *_AS_BEFORE, *_KEEPING))


def _with(function: _Decorated, options: Sequence[Callable[[_Decorated], _Decorated]]) -> _Decorated:
    for option in reversed(options):
        function = option(function)
    return function


def require_own_options_first(words: Sequence[str]) -> None:
    """Behind the first word they would be words for the model, or arguments of the agent."""
    command = click.get_current_context().command
    options = [option for option in command.params if isinstance(option, click.Option)]
    ours = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
    first = next(str(param.metavar) for param in command.params if isinstance(param, click.Argument))
    said = list(takewhile(lambda word: word != "--", words))
    for place, word in enumerate(said):
        option = ours.get(word.partition("=")[0])
        if option is not None:
            told = _as_meant(option, word, said[place + 1 :])
            raise BadRequestError(
                f"{word} is an option of Steno's, and these stand before {first}",
                hint=f"`steno agent {command.name} {told} {first} …`; the agent's own arguments follow --",
            )


def _as_meant(option: click.Option, word: str, following: Sequence[str]) -> str:
    """With its value: else what stands behind it in the hint would be read as one."""
    if option.is_flag or "=" in word:
        return word
    value = shlex.quote(following[0]) if following else option.make_metavar(click.get_current_context())
    return f"{word} {value}"
