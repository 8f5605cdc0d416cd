"""The command `steno`: finds the subcommand, and turns errors into words and exit codes, once.

In: the command line. Out: an exit code. Subcommands are imported only when they are asked for, because
`steno run` has a start-up budget. Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from steno import __version__
from steno.capture.streams import guard_standard_descriptors
from steno.errors import StenoError
from steno.views.plain import visible

# name -> what it does, in the order a newcomer meets them
COMMANDS = {
    "run": "Run a command and record it.",
    "list": "List the recorded runs.",
    "show": "Say what one run was and did.",
    "tree": "Show the processes of a run.",
    "files": "List the files a run changed or read.",
    "net": "List the addresses a run talked to.",
    "events": "Print what the kernel saw, event by event.",
    "play": "Replay the terminal of a run.",
    "verify": "Check that a record is what it says it is.",
    "recover": "Seal a run whose recorder was killed.",
    "undo": "Bring files back to what they were before a run.",
    "restore": "Bring files back to what a run left.",
    "export": "Write a run in another format.",
    "pack": "Make one file of a run.",
    "doctor": "Say what can be observed on this machine.",
    "completion": "Print the completion script of a shell.",
}
USAGE_ERROR = 2
RUN_FAILURE = 125
INTERRUPTED = 130


class _SystemError(Exception):
    """The operating system refused something, such as our output. Click would keep an OSError to itself."""


class _Commands(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # it is, when our stdout was closed
                sys.stdout.flush()
        except OSError as error:
            raise _SystemError from error
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click calls it
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"steno.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as click calls it
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Examples:\n\n\b\n  steno run -- make test\n  steno show @last\n  steno verify @last",
)
@click.version_option(__version__, prog_name="steno", message="%(prog)s %(version)s")
def steno() -> None:
    """Run any command unchanged and keep a record that anyone can verify.

    What the kernel saw is fact; what the agent said is a claim. RUN is the id of a run, a unique
    beginning of one, a path, or @last.
    """


def main() -> NoReturn:
    guard_standard_descriptors()
    code = exit_code(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError):  # what could not be written was told already
                stream.flush()
    # Everything is closed and written. To take the interpreter apart as well costs time, and libraries with
    # threads of their own do not always survive it.
    os._exit(code)


def exit_code(words: list[str]) -> int:
    running = words[:1] == ["run"]
    try:
        result = steno.main(args=words, prog_name="steno", standalone_mode=False)
    except StenoError as error:
        _complain(visible(str(error)), visible(error.hint))
        return RUN_FAILURE if running else error.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "steno"
        _complain(_visible_lines(error), f"`{where} --help` shows what it takes")
        return RUN_FAILURE if running else USAGE_ERROR
    except click.ClickException as error:
        _complain(_visible_lines(error), "`steno --help` shows what it takes")
        return RUN_FAILURE if running else error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except _SystemError as error:
        return _on_system_error(error.__cause__, running=running)
    return result if isinstance(result, int) else 0


def _on_system_error(cause: BaseException | None, *, running: bool) -> int:
    """A reader that has gone needs no word, also not when Python closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(cause, BrokenPipeError) and not running:
        return 0
    _complain(visible(f"an operation failed: {cause}"), "check the disk and the permissions of what is named")
    return RUN_FAILURE if running else StenoError.exit_code


def _visible_lines(error: click.ClickException) -> str:
    return "\n".join(visible(line) for line in error.format_message().replace("\t", "  ").split("\n"))


def _complain(message: str, hint: str) -> None:
    click.echo(f"steno: {message}", err=True)
    click.echo(f"hint: {hint}", err=True)
