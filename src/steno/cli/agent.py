"""`steno agent`: coding agents in a world of their own, attempt by attempt."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from steno.cli import agent_translate
from steno.cli.agent_options import require_own_options_first, resume_options, start_options
from steno.cli.agent_translate import output_may_be_gone
from steno.cli.options import chosen_store, json_option
from steno.cli.output import paint, print_json, print_lines, say, say_hint, terminal_width
from steno.errors import BadRequestError

if TYPE_CHECKING:
    from steno.launch.attempt import AttemptResult, LaunchOptions

INCOMPLETE = 3


@click.group(
    "agent",
    epilog="""\b
Examples:
  steno agent start claude "Fix the tests." -- --allowedTools Bash,Edit
  steno agent resume 3fa1c2d4 "Now the linter."
  steno agent status 3fa1c2d4
  steno agent reconstruct fd-trace.1.log stdout.log stderr.log

docs/agents.md describes what an attempt leaves, how streams are split and how its end is told.""",
)
def command() -> None:
    """Start coding agents, continue them, and read what they left."""


@command.command(
    "reconstruct",
    epilog="""\b
Examples:
  steno agent reconstruct .audit/fd-trace.1.log stdout.log stderr.log
  strace -f -yy -s 65535 -e trace=write,writev -e write=1,2 -o trace.log -- make
  steno agent reconstruct trace.log stdout.log stderr.log --json | jq .diagnostics

\b
What goes where:
  a write to /dev/pts/N or /dev/tty counts, every other one does not
  descriptor 1 is stdout, 2 is stderr
  any other descriptor is stdout if none is yet, else stderr if none is yet, else stdout; and stays so
  of a write that was partial, only the bytes that were written count

What strace cut off in a line is taken from the hex dump beneath it (-e write=1,2), and is counted as lost
when there is none. OUT and ERR appear whole or not at all; what is there and differs is not overwritten.

\b
Exit codes:
  0    both streams are rebuilt
  2    the trace cannot be read, or OUT or ERR is there already and differs
  3    both are rebuilt, and something is missing: stderr says what and how much
  125  OUT or ERR cannot be written""",
)
@click.argument("trace", metavar="TRACE")
@click.argument("out", metavar="OUT")
@click.argument("err", metavar="ERR")
@json_option
def reconstruct(trace: str, out: str, err: str, as_json: bool) -> int:
    """Rebuild stdout and stderr from a trace of writes, ours or that of strace.

    TRACE is the fd-trace of an attempt, or what `strace -f -yy -s 65535 -e trace=write -e write=1,2` wrote,
    of one process or of many. OUT and ERR are the files to write. The bytes are joined as they were written,
    so a character that two writes share is whole again.
    """
    import msgspec

    from steno.contracts.agent_audit.strace_reader import HINT, MEANINGS, NOT_A_TRACE
    from steno.launch.reconstruct import reconstruct_files
    from steno.text.units import counted

    made = reconstruct_files(Path(trace), Path(out), Path(err))
    if as_json:
        print_json(msgspec.to_builtins(made))
    else:
        print_lines(
            f"{name}  {counted(size, 'byte')} in {counted(chunks, 'write')}"
            for name, size, chunks in (
                ("stdout", made.stdout_bytes, made.stdout_chunks),
                ("stderr", made.stderr_bytes, made.stderr_chunks),
            )
        )
    for diagnostic in made.diagnostics:
        thing, matter = MEANINGS[diagnostic.code]
        say(f"{diagnostic.code}: {counted(diagnostic.count, thing)} {matter}")
        if diagnostic.code == NOT_A_TRACE:
            say_hint(HINT)
    return 0 if made.complete else INCOMPLETE


_ISOLATED = "isolated"


@command.command(
    "start",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  steno agent start claude "Fix the tests." -- --allowedTools Bash,Edit
  steno agent start --translate 3 codex "Say what this project does."
  steno agent start --skills ./skills --run-dir 3fa1c2d4 claude "Use the skill."
  steno agent start gemini

\b
Words:
  before --  said to the model; without any the agent is started to talk with it
  after --   the agent's own arguments, passed on as they are

With --json stdout has one object and nothing of the agent's: the run, the attempt as `steno agent status
--json` has it, the exit code, and what stderr says besides.

Exits with the agent's own code (128+n when signal n ended it), 125 when it was not started.""",
)
@click.option(
    "--run-dir", metavar="SEL", help="Another attempt in this run: a path, an id or its last 8 digits."
)
@click.option("--skills", metavar="DIR", help="Copy the skills in DIR into the run.")
@click.option(
    "--home",
    metavar="default|isolated|PATH",
    default=_ISOLATED,
    show_default=True,
    help="The home of the agent: yours, one that Steno keeps for agents, or a directory.",
)
@start_options
@click.argument("agent", metavar="AGENT")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[WORD]... [-- ARG...]")
def start(
    run_dir: str | None,
    skills: str | None,
    home: str,
    translate: str,
    observer: str,
    policy: str | None,
    hooks: bool,
    store: str | None,
    as_json: bool,
    agent: str,
    words: tuple[str, ...],
) -> int:
    """Start an agent in a run directory, in a world of its own, and record it.

    AGENT is codex, claude, gemini, opencode, iflow, or one that a file in the folder steno/agents of your
    configuration describes.
    """
    from steno.cli.run import tell_of_long_work
    from steno.launch.start import start as start_agent

    require_own_options_first(words)
    around = _surroundings(translate, observer, policy, store, hooks=hooks, as_json=as_json)._replace(
        home=_home(home), skills=Path(skills) if skills is not None else None
    )
    made = start_agent(agent, words, around, selector=run_dir, on_sealing=tell_of_long_work)
    return _told(made, as_json=as_json)


@command.command(
    "resume",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  steno agent resume 3fa1c2d4 "Now the linter."
  steno agent resume 3fa1c2d4 "Go on." -- --allowedTools Bash
  steno agent resume --policy stricter.yaml 3fa1c2d4 "Go on."

The policy and the hooks of the attempt before hold again. When that policy file is gone, or is not what it
was, nothing is started until --policy or --no-policy says what is meant.

What earlier attempts left is not touched. Exits with the agent's own code, 125 when it was not started.""",
)
@resume_options
@click.argument("selector", metavar="SEL")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[MESSAGE] [-- ARG...]")
def resume(
    translate: str,
    observer: str,
    policy: str | None,
    no_policy: bool,
    hooks: bool | None,
    store: str | None,
    as_json: bool,
    selector: str,
    words: tuple[str, ...],
) -> int:
    """Continue the last session of a run, as its next attempt."""
    from steno.cli.run import tell_of_long_work
    from steno.launch.start import resume as resume_agent

    require_own_options_first(words)
    if policy is not None and no_policy:
        raise BadRequestError(
            "--policy and --no-policy are asked for at once", hint="leave out what is not meant"
        )
    around = _surroundings(translate, observer, policy, store, hooks=bool(hooks), as_json=as_json)
    made = resume_agent(
        selector,
        words,
        around,
        keep_policy=policy is None and not no_policy,
        keep_hooks=hooks is None,
        on_sealing=tell_of_long_work,
    )
    return _told(made, as_json=as_json)


@command.command(
    "list",
    epilog="""\b
Examples:
  steno agent list
  steno agent list --json | jq '.runs[0]'
  steno agent list --json | jq '.agents[] | select(.problem)'""",
)
@json_option
def list_all(as_json: bool) -> None:
    """List the agents that can be started, and their runs, newest first.

    Of an agent it is told where its program is, or what is wrong: that it is not installed, or that the file
    that describes it cannot be used. Of a run, how its last attempt ended; on a terminal that is cut to the
    width, and a narrow one has two lines a run. The last eight digits of a run are enough to name it.
    """
    from steno.launch.status import all_agents, all_runs, lines_of_agents, lines_of_list

    agents, runs = all_agents(_root(), _environ()), all_runs(_root())
    if as_json:
        print_json({"agents": agents, "runs": runs})
        return
    width = terminal_width()
    print_lines(lines_of_agents(agents, width=width, paint=paint()))
    if runs:
        print_lines(["", *lines_of_list(runs, width=width, paint=paint())])


@command.command(
    "status",
    epilog="""\b
Examples:
  steno agent status 3fa1c2d4
  steno agent status 3fa1c2d4 --json

It only reads. An attempt whose recorder was killed is told as crashed; `steno agent recover` seals what was
recorded of it. Files in .audit that are not as they were written are named; how an attempt ended is not taken
from them.""",
)
@click.argument("selector", metavar="SEL")
@json_option
def status(selector: str, as_json: bool) -> None:
    """Say how each attempt of a run ended."""
    from steno.launch.recover import can_be_finished

    _print_run(selector, as_json=as_json)
    if can_be_finished(_root(), selector):
        say("not all of it is written: a recorder was killed, or files are missing")
        say_hint(f"`steno agent recover {shlex.quote(selector)}` writes what the recording gives")


@command.command(
    "recover",
    epilog="""\b
Examples:
  steno agent recover 3fa1c2d4

`steno agent resume` and `steno agent start --run-dir` do this by themselves before they go on in a run.""",
)
@click.argument("selector", metavar="SEL")
@json_option
def recover(selector: str, as_json: bool) -> None:
    """Finish attempts whose recorder was killed.

    What was recorded is sealed, and .audit gets the files that the recording gives. Streams and a meta file
    that are missing from another attempt are written again. An attempt that runs is left alone.
    """
    from steno.agents.catalog import Catalogue
    from steno.launch.recover import finish_crashed

    for note in finish_crashed(_root(), selector, Catalogue.load(_environ())):
        say(note)
    _print_run(selector, as_json=as_json)


command.add_command(agent_translate.command)


def _print_run(selector: str, *, as_json: bool) -> None:
    from steno.launch.status import lines_of_status, one_run

    run = one_run(_root(), selector)
    if as_json:
        print_json(run)
    else:
        print_lines(lines_of_status(run))


def _home(choice: str) -> str:
    """A path is kept whole: the run may be resumed from elsewhere."""
    return choice if choice in {"default", _ISOLATED, ""} else str(Path(choice).absolute())


def _root() -> Path:
    from steno.launch.run_dirs import agents_root

    return agents_root(_environ())


def _environ() -> Mapping[str, str]:
    from steno.capture.host import original_environment

    return original_environment()


def _surroundings(
    level: str, observer: str, policy: str | None, store: str | None, *, hooks: bool, as_json: bool
) -> LaunchOptions:
    from steno.launch.attempt import LaunchOptions

    if as_json and level != "0":
        raise BadRequestError(
            "a translation and --json both want stdout",
            hint="leave one out; `steno agent status SEL --json` tells how it ended",
        )
    levels: dict[str, Literal[0, 1, 2, 3]] = {"0": 0, "1": 1, "2": 2, "3": 3}
    return LaunchOptions(
        environ=_environ(),
        root=_root(),
        store=chosen_store(store).absolute(),
        policy=Path(policy) if policy is not None else None,
        hooks=hooks,
        observer=observer,
        translate=levels[level],
        quiet=as_json,
        tell=_tell_of_a_long_look,
    )


def _tell_of_a_long_look(words: str | None) -> None:
    """In one place, which is empty again when there is nothing more to tell."""
    if os.isatty(2):
        click.echo(f"\r\x1b[K{words or ''}", nl=False, err=True)


def _told(made: AttemptResult, *, as_json: bool) -> int:
    from steno.cli.run import tell, troubles
    from steno.launch.status import how_it_ended, one_attempt

    told = one_attempt(made.meta)
    found = troubles(made.outcome, made.meta.launch.command)
    notes = [*("; ".join(filter(None, trouble)) for trouble in found), *made.notes]
    with output_may_be_gone():
        if made.attempt is not None:
            agent_translate.show(made.attempt, made.meta.interactive.translate_level)
        if as_json:
            print_json({**told, "exitCode": made.exit_code, "notes": notes})
    with output_may_be_gone():
        tell(made.outcome, made.meta.launch.command)
        for note in made.notes:
            say(note)
        say(f"{made.meta.run_id} attempt {made.meta.attempt.number}: {how_it_ended(told['attempt'])}")
    return made.exit_code
