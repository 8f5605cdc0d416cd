"""The command `steno`: finds the subcommand, and turns errors into words and exit codes, once.

In: the command line. Out: an exit code. Subcommands are imported only when they are asked for, because
`steno run` has a start-up budget. Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from steno import __version__
from steno.capture.streams import guard_standard_descriptors, is_open
from steno.cli.entry import FAULT, INTERRUPTED, RUN_FAILURE, failure_code
from steno.errors import BadPolicyError, StenoError
from steno.text.safe import visible

# name -> what it does, in the order a newcomer meets them
COMMANDS = {
    "run": "Run a command and record it.",
    "list": "List the recorded runs.",
    "show": "Say what one run was and did.",
    "tail": "Watch a run while it goes on.",
    "tree": "Show the processes of a run.",
    "files": "List the files a run changed or read.",
    "net": "List the addresses a run talked to.",
    "events": "Print what the kernel saw, event by event.",
    "calls": "Compare what an agent said, policy decided and the kernel saw.",
    "surface": "Say what a run touched, reached and started.",
    "diff": "Compare what two runs did, or a run and a baseline.",
    "baseline": "Make a lock file of what runs did.",
    "report": "Make one page of a run that any browser shows.",
    "play": "Replay the terminal of a run.",
    "serve": "Show the runs in a browser on this machine.",
    "verify": "Check that a record is what it says it is.",
    "recover": "Seal a run whose recorder was killed.",
    "undo": "Bring files back to what they were before a run.",
    "restore": "Bring files back to what a run left.",
    "export": "Write a run in another format.",
    "pack": "Make one file of a run.",
    "mcp": "Stand between an MCP client and a server, with a policy.",
    "hook": "Tell the recorder what an agent's hook was given.",
    "agent": "Start coding agents, continue them, and read what they left.",
    "doctor": "Say what can be observed on this machine.",
    "completion": "Print the completion script of a shell.",
}
# Those that stand in a module with others; the rest have one of their own name.
_MODULES = {
    **dict.fromkeys(("list", "show", "tree", "files", "net", "events", "calls", "surface"), "read"),
    **dict.fromkeys(("tail", "play"), "live"),
    **dict.fromkeys(("diff", "baseline"), "compare"),
    **dict.fromkeys(("export", "pack"), "export"),
    **dict.fromkeys(("verify", "recover"), "verify"),
    **dict.fromkeys(("undo", "restore"), "undo"),
}
USAGE_ERROR = 2
READER_GONE = 141  # 128+SIGPIPE, as other programs end: their verdict was not read


class _SystemError(Exception):
    """The operating system refused something, such as our output. Click would keep an OSError to itself."""


class _Commands(click.Group):
    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except OSError as error:  # of the help, which is printed here
            raise _SystemError from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except OSError as error:
            raise _SystemError from error
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click calls it
        if cmd_name not in COMMANDS:
            return None
        module = _MODULES.get(cmd_name)
        name = "command" if module is None else f"{cmd_name}_command"
        command: click.Command = getattr(import_module(f"steno.cli.{module or cmd_name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as click calls it
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=_Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Examples:\n\n\b\n  steno run -- make test\n  steno show @last\n  steno verify @last",
)
@click.version_option(__version__, prog_name="steno", message="%(prog)s %(version)s")
@click.pass_context
def steno(ctx: click.Context) -> None:
    """Run any command unchanged and keep a record that anyone can verify.

    What the kernel saw is fact; what the agent said is a claim. RUN is the id of a run, a unique
    beginning of one, a path, or @last.
    """
    if ctx.invoked_subcommand is None:  # whoever says no more than `steno` asks what there is
        click.echo(ctx.get_help())


def main() -> NoReturn:
    guard_standard_descriptors()
    _open_closed_streams()
    code = exit_code(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # what could not be written was told already
            stream.flush()
    # Everything is closed and written. To take the interpreter apart as well costs time, and libraries with
    # threads of their own do not always survive it.
    os._exit(code)


def _open_closed_streams() -> None:
    """Where Python found a descriptor closed, it has no stream; the descriptor leads to /dev/null by now."""
    for fd, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False))


def exit_code(words: list[str]) -> int:
    try:
        result = steno.main(args=words, prog_name="steno", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - left to Python, it would end with 1, which is a verdict
        return _tell(error, failure_code(words))
    return result if isinstance(result, int) else 0


def _tell(error: Exception, failure: int | None) -> int:
    """Say what went wrong, and give its exit code; `failure` is that of a command with one for all."""
    match error:
        case _SystemError():
            return _on_system_error(error.__cause__, running=failure == RUN_FAILURE)
        case StenoError():
            problems = error.problems if isinstance(error, BadPolicyError) else (str(error),)
            _complain("\n".join(map(visible, problems)), visible(error.hint))
            code = error.exit_code
        case click.exceptions.NoArgsIsHelpError():  # a group without a command: its help tells what it lacks
            _print_to_stderr(error.format_message())
            code = USAGE_ERROR
        case click.ClickException():
            where = getattr(error, "ctx", None)
            _complain(
                _visible_lines(error.format_message().replace("\t", "  ")),
                f"`{where.command_path if where else 'steno'} --help` shows what it takes",
            )
            code = USAGE_ERROR  # click has 1 for some of them
        case _:
            import traceback  # late: start-up has a budget

            fault = "".join(traceback.format_exception(error)).rstrip()
            _complain(_visible_lines(fault), "this is a fault of Steno's: please report these lines")
            code = FAULT
    return failure or code


def _on_system_error(cause: BaseException | None, *, running: bool) -> int:
    """A reader that has gone needs no word, also not when Python closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(cause, BrokenPipeError) and not running:
        return READER_GONE
    if isinstance(cause, OSError) and cause.errno == errno.EBADF and not is_open(1):
        _complain(
            "stdout is closed: nothing can be written to it", "where nobody is to read it, `>/dev/null`"
        )
    else:
        _complain(
            visible(f"an operation failed: {cause}"), "check the disk and the permissions of what is named"
        )
    return RUN_FAILURE if running else StenoError.exit_code


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def _complain(message: str, hint: str) -> None:
    _print_to_stderr(f"steno: {message}\nhint: {hint}")


def _print_to_stderr(text: str) -> None:
    with suppress(OSError):  # where nobody hears it, the exit code still says it
        click.echo(text, err=True)
