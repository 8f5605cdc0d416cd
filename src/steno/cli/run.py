"""`steno run`: record one command. Exits as the command did."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from steno.agents.made import HOOK_AGENTS
from steno.bundle.store import UNPUBLISHED
from steno.capture.host import original_environment
from steno.capture.observer import AUTO, EBPF, NONE, WISHES, may_load
from steno.cli.options import chosen_store, complete_command
from steno.cli.output import say, say_hint
from steno.errors import BadRequestError, CaptureError, StenoError
from steno.evidence import layout
from steno.evidence.intake_names import NOT_WANTED
from steno.evidence.kinds import ANY_SHIM, MAX_TAIL_BYTES, NO_SHIM, KernelObserved, SdkIntake
from steno.evidence.run_id import is_run_id
from steno.record.gaps import counted
from steno.record.run import Outcome, RunRequest, record

_START_HINTS = {
    os.strerror(errno.ENOENT): "check the name and PATH",
    os.strerror(errno.EMFILE): "raise the limit of open files with `ulimit -n`",
}
_DESTINATIONS = {layout.STDOUT: "stdout", layout.STDERR: "stderr", layout.OUTPUT: "stdout and stderr"}
SHIMS = (ANY_SHIM, NO_SHIM, "openai-agents", *HOOK_AGENTS)
LONG_WORK_BYTES = 100_000_000
FOREVER = "forever"
_MOST_SECONDS = 10**9


def _seconds(_ctx: click.Context, _param: click.Parameter, value: str) -> float:
    if value == FOREVER:
        return math.inf
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _MOST_SECONDS:
        raise click.BadParameter(f"{value!r} is not a number of seconds, nor {FOREVER!r}.")
    return seconds


@click.command(
    "run",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  steno run -- make test
  steno run --name "nightly" --no-git -- ./backup.sh
  printf 'hello' | steno run -- wc -c
  steno run --export capture-run:. -- npm test

Exits with the command's own code (128+n when signal n ended it), 127 when it is not found, 126 when it
cannot be executed, 125 when Steno itself fails before the command starts, or the command ended with 0 and
what it wrote could not be passed on (a full disk; a reader that left is no failure), or its record was lost
or could not be sealed.""",
)
@click.option("--cwd", metavar="DIR", help="Run in DIR.")
@click.option("--git/--no-git", default=True, help="Record the git state before and after (default: on).")
@click.option(
    "--pty",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Give the command a terminal: where you have one, always, or never.",
)
@click.option(
    "--tail-bytes", type=click.IntRange(0, MAX_TAIL_BYTES), default=4000, show_default=True, metavar="N",
    help="How much of the end of stdout and stderr the summaries keep.",
)  # fmt: skip
@click.option("--raw-logs", is_flag=True, help="Let capture-run exports hold the full (masked) logs.")
@click.option(
    "--observer",
    type=click.Choice(WISHES),
    default=AUTO,
    show_default=True,
    help="Who watches what the kernel is asked to do. notify: needs no privilege, and keeps how files were. "
    "ebpf: needs root; sees results, and costs less. both: each checks the other. auto: both for root where "
    "that works, else notify. none: nobody.",
)
@click.option(
    "--wait-descendants",
    callback=_seconds,
    default="2",
    show_default=True,
    metavar="SECONDS",
    help="Wait so long for processes that the command leaves behind; what they do later is not recorded. "
    "0: do not wait; forever: until the last has ended. Control-C ends the wait.",
)
@click.option(
    "--split",
    type=click.Choice(["auto", "off"]),
    default="auto",
    show_default=True,
    help="On a terminal, tell stdout from stderr.",
)
@click.option(
    "--max-blob",
    type=click.IntRange(0),
    default=16 << 20,
    show_default=True,
    metavar="BYTES",
    help="Keep the content of files up to this size.",
)
@click.option("--allow-io-uring", is_flag=True, help="Let io_uring through; what it does is not seen.")
@click.option(
    "--shim",
    type=click.Choice(SHIMS),
    default=ANY_SHIM,
    show_default=True,
    help="Who tells what the agent says of itself. auto: whoever does. none: nobody is listened to. With a "
    "name, it is a fault when nothing is told.",
)
@click.option("--name", metavar="TEXT", help="A name for people to find the run by.")
@click.option("--run-id", metavar="ID", help="The id of the run; as a rule Steno chooses one.")
@click.option("--store", metavar="DIR", help="Keep the record in DIR (default: see `steno doctor`).")
@click.option(
    "--export", "exports", multiple=True, metavar="NAME:DIR", help="Also write the run as NAME into DIR."
)
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="-- COMMAND [ARG]...",
    shell_complete=complete_command,
)
def command(
    cwd: str | None,
    git: bool,
    pty: str,
    tail_bytes: int,
    raw_logs: bool,
    observer: str,
    wait_descendants: float,
    split: str,
    max_blob: int,
    allow_io_uring: bool,
    shim: str,
    name: str | None,
    run_id: str | None,
    store: str | None,
    exports: tuple[str, ...],
    words: tuple[str, ...],
) -> int:
    """Run COMMAND unchanged and record it.

    The command behaves as it would without Steno: same exit code, same output, same terminal. The record
    goes to the store; no secret reaches the disk in clear.
    """
    if not words:
        raise BadRequestError(
            "there is no command to run", hint="put it after --, as in `steno run -- make test`"
        )
    wanted = [_parse_export(text) for text in exports]
    place = chosen_store(store).absolute()
    if run_id is not None:
        _check_run_id(run_id, place)
    outcome = record(
        RunRequest(
            command=words,
            cwd=_directory(cwd),
            store=place,
            run_id=run_id,
            environ=original_environment(),
            git=git,
            pty=pty,
            tail_bytes=tail_bytes,
            raw_logs=raw_logs,
            observer=observer,
            split=split == "auto",
            max_blob=max_blob,
            allow_io_uring=allow_io_uring,
            wait_descendants=wait_descendants,
            shim=shim,
            name=name,
            exclude=[_place_of(format_name, directory) for format_name, directory in wanted],
        ),
        on_sealing=tell_of_long_work,
    )
    tell(outcome, words[0])
    if outcome.manifest is not None:
        for format_name, directory in wanted:
            _export(outcome, format_name, directory)
    return outcome.exits_with


def _check_run_id(run_id: str, store: Path) -> None:
    if not is_run_id(run_id):
        raise BadRequestError(
            f"{run_id!r} cannot be the id of a run",
            hint="an id is a time in UTC and eight hexadecimal digits: 2026-01-25T12-00-00-000Z_0123abcd",
        )
    if any(os.path.lexists(store / name) for name in (run_id, f"{UNPUBLISHED}{run_id}")):
        raise BadRequestError(
            f"there is a run {run_id} in {store}", hint="choose another id, or leave --run-id out"
        )


def _directory(cwd: str | None) -> Path:
    try:
        return Path(cwd or ".").absolute()
    except FileNotFoundError as error:
        raise CaptureError(
            "the current directory does not exist any more",
            hint="change to one that does, or name it with --cwd",
        ) from error


def _parse_export(text: str) -> tuple[str, Path]:
    from steno.export import export_named

    name, colon, directory = text.partition(":")
    if not colon or not directory:
        raise BadRequestError(f"--export {text!r} names no directory", hint="write it as NAME:DIR")
    export_named(name)
    return name, Path(directory).absolute()


def _place_of(name: str, directory: Path) -> Path:
    from steno.export import place_of

    return place_of(name, directory)


def _export(outcome: Outcome, name: str, directory: Path) -> None:
    from steno.export import export_named
    from steno.model.run import Run
    from steno.model.runs import open_path

    try:
        with Run(open_path(outcome.path)) as run:
            written = export_named(name)(run, directory)
    except StenoError as error:  # the command has run: its exit code is what the caller is owed
        say(f"not exported as {name}: {error}")
        say_hint(error.hint)
        return
    say(f"exported as {name}: {written.path}")
    for note in written.notes:
        say(note)


def tell_of_long_work(size: int) -> None:
    if size >= LONG_WORK_BYTES and os.isatty(2):
        say(f"sealing {size // 1_000_000} MB of output …")


class Trouble(NamedTuple):
    said: str
    hint: str | None = None


def tell(outcome: Outcome, word: str) -> None:
    """On a terminal one line says where the record is; in a pipeline only trouble is worth a word."""
    for trouble in troubles(outcome, word):
        say(trouble.said)
        if trouble.hint is not None:
            say_hint(trouble.hint)
    if outcome.seal_failure is None and os.isatty(2):
        say(f"recorded {outcome.run_id} (exit {outcome.exit_code}); `steno show @last` tells more")


def troubles(outcome: Outcome, word: str) -> Iterator[Trouble]:
    if outcome.unobserved is not None:
        yield Trouble(
            "WARNING: no kernel layer: files, processes and connections were NOT recorded: "
            f"{outcome.unobserved}",
            outcome.unobserved.hint,
        )
    if outcome.not_started is not None:
        hint = _START_HINTS.get(outcome.not_started, "check that it is an executable file")
        yield Trouble(f"cannot run {word}: {outcome.not_started}", hint)
    for gap in outcome.gaps:
        lost = f" ({gap.lost_bytes} bytes lost)" if gap.lost_bytes else ""
        yield Trouble(f"the record has a gap: {gap.reason}: {gap.detail}{lost}")
    if outcome.sdk_intake is not None:
        yield from _of_the_sdk_log(outcome.sdk_intake)
    if outcome.observed is not None:
        yield from _of_the_filter(outcome.observed)
        yield from _of_the_ignored_paths()
    for tape, reason in outcome.unwritten.items():
        yield Trouble(
            f"what the command wrote to {_DESTINATIONS.get(tape, tape)} could not be written: {reason}",
            f"`steno play {outcome.path}` shows what was recorded of it",
        )
    if outcome.swallowed_input:
        yield Trouble(
            f"{outcome.swallowed_input} bytes of input were read ahead and not used by the command",
            "in a loop that reads the same pipe, give the command its own input: `</dev/null`",
        )
    if outcome.seal_failure is not None:
        yield Trouble(
            outcome.seal_failure,
            f"what was recorded is kept; when the cause is gone, run `steno recover {outcome.path}`"
            if outcome.path.exists()
            else "the run's directory was removed while the command ran; nothing of the record is left",
        )


def _of_the_ignored_paths() -> Iterator[Trouble]:
    from steno.capture import ignore

    try:
        path = ignore.config_path(os.environ)
    except CaptureError:  # the recorder had another environment
        return
    why = ignore.why_not_made(path)
    if why is not None:
        yield Trouble(f"the default list of ignored paths was used: {path} cannot be made, {why}")


def _of_the_sdk_log(told: SdkIntake) -> Iterator[Trouble]:
    """Whoever wrote a log learns nowhere else why it is not in the record."""
    if told.refused is None or told.refused == NOT_WANTED:
        return
    line = "" if told.refused_line is None else f" from line {told.refused_line + 1} on"
    yield Trouble(
        f"the log of the agent's SDK was refused{line}: {told.refused}",
        "docs/shims.md says how such a log is written, docs/spec.md (5.6) what each reason means",
    )


def _of_the_filter(observed: KernelObserved) -> Iterator[Trouble]:
    """What the command may have noticed of being watched."""
    if observed.store_refused:
        whose = ("change of Steno's own records was", "changes of Steno's own records were")
        says = counted(observed.store_refused, *whose, "refused (EBUSY): they are closed to the command")
        yield Trouble(says)
    if observed.privilege_lost:
        yield Trouble(
            "a set-user-id program ran without its privilege: only root can watch one that gains any",
            "run `steno run` as the user that the command needs, or go without with `--observer none`",
        )
    if observed.listeners_refused:
        without_a_filter = EBPF if may_load() else NONE
        yield Trouble(
            "a program asked for a seccomp listener of its own and was refused (EBUSY): "
            "the kernel allows one",
            f"if it does not work so, record it with `--observer {without_a_filter}`",
        )
