"""`steno completion`: the script that lets a shell complete Steno's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from steno.errors import BadRequestError


@click.command(
    "completion",
    epilog="""\b
Examples:
  eval "$(steno completion bash)"            (in ~/.bashrc)
  steno completion zsh > "${fpath[1]}/_steno"
  steno completion fish > ~/.config/fish/completions/steno.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    Commands, options, the ids of runs and paths are completed; after `steno run --`, programs and files.
    """
    from steno.cli.main import steno

    found = get_completion_class(shell)
    if found is None:
        raise BadRequestError(f"there is no completion for {shell}", hint="bash, zsh and fish are known")
    click.echo(found(steno, {}, "steno", "_STENO_COMPLETE").source())
