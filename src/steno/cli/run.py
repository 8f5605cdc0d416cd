"""`steno run`: record one command. Exits as the command did."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import click

from steno.capture.host import original_environment
from steno.cli.opening import chosen_store, say, say_hint
from steno.derive.tails import MAX_TAIL_BYTES
from steno.errors import BadRequestError, CaptureError, StenoError
from steno.events.kinds import KernelObserved
from steno.record.run import Outcome, RunRequest, record

_START_HINTS = {
    os.strerror(errno.ENOENT): "check the name and PATH",
    os.strerror(errno.EMFILE): "raise the limit of open files with `ulimit -n`",
}
LONG_WORK_BYTES = 100_000_000


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
cannot be executed, 125 when Steno itself fails before the command starts.""",
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
    type=click.Choice(["auto", "notify", "none"]),
    default="auto",
    show_default=True,
    help="Watch what the kernel is asked to do: if that can be, in any case, or not at all.",
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
@click.option("--name", metavar="TEXT", help="A name for people to find the run by.")
@click.option("--store", metavar="DIR", help="Keep the record in DIR (default: see `steno doctor`).")
@click.option(
    "--export", "exports", multiple=True, metavar="NAME:DIR", help="Also write the run as NAME into DIR."
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND [ARG]...")
def command(
    cwd: str | None,
    git: bool,
    pty: str,
    tail_bytes: int,
    raw_logs: bool,
    observer: str,
    split: str,
    max_blob: int,
    allow_io_uring: bool,
    name: str | None,
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
    outcome = record(
        RunRequest(
            command=words,
            cwd=_directory(cwd),
            store=chosen_store(store).absolute(),
            environ=original_environment(),
            git=git,
            pty=pty,
            tail_bytes=tail_bytes,
            raw_logs=raw_logs,
            observer=observer,
            split=split == "auto",
            max_blob=max_blob,
            allow_io_uring=allow_io_uring,
            name=name,
            exclude=[_place_of(format_name, directory) for format_name, directory in wanted],
        ),
        on_sealing=_tell_of_long_work,
    )
    _tell(outcome, words[0])
    if outcome.manifest is not None:
        for format_name, directory in wanted:
            _export(outcome, format_name, directory)
    return outcome.exit_code


def _directory(cwd: str | None) -> Path:
    try:
        return Path(cwd or ".").absolute()
    except FileNotFoundError as error:
        raise CaptureError(
            "the current directory does not exist any more",
            hint="change to one that does, or name it with --cwd",
        ) from error


def _parse_export(text: str) -> tuple[str, Path]:
    from steno.views.export import export_named

    name, colon, directory = text.partition(":")
    if not colon or not directory:
        raise BadRequestError(f"--export {text!r} names no directory", hint="write it as NAME:DIR")
    export_named(name)
    return name, Path(directory).absolute()


def _place_of(name: str, directory: Path) -> Path:
    from steno.views.export import place_of

    return place_of(name, directory)


def _export(outcome: Outcome, name: str, directory: Path) -> None:
    from steno.bundle.folder import Folder
    from steno.views.export import export_named

    try:
        with Folder(outcome.path) as folder:
            written = export_named(name)(folder, directory)
    except StenoError as error:  # the command has run: its exit code is what the caller is owed
        say(f"not exported as {name}: {error}")
        say_hint(error.hint)
        return
    say(f"exported as {name}: {written.path}")
    for note in written.notes:
        say(note)


def _tell_of_long_work(size: int) -> None:
    if size >= LONG_WORK_BYTES and os.isatty(2):
        say(f"sealing {size // 1_000_000} MB of output …")


def _tell(outcome: Outcome, word: str) -> None:
    """On a terminal one line says where the record is; in a pipeline only trouble is worth a word."""
    if outcome.not_started is not None:
        say(f"cannot run {word}: {outcome.not_started}")
        say_hint(_START_HINTS.get(outcome.not_started, "check that it is an executable file"))
    for gap in outcome.gaps:
        lost = f" ({gap.lost_bytes} bytes lost)" if gap.lost_bytes else ""
        say(f"the record has a gap: {gap.reason}: {gap.detail}{lost}")
    if outcome.observed is not None:
        _tell_of_the_filter(outcome.observed)
    if outcome.swallowed_input:
        say(f"{outcome.swallowed_input} bytes of input were read ahead and not used by the command")
        say_hint("in a loop that reads the same pipe, give the command its own input: `</dev/null`")
    if outcome.seal_failure is not None:
        say(outcome.seal_failure)
        if outcome.path.exists():
            say_hint(f"what was recorded is kept; when the cause is gone, run `steno recover {outcome.path}`")
        else:
            say_hint("the run's directory was removed while the command ran; nothing of the record is left")
    elif os.isatty(2):
        say(f"recorded {outcome.run_id} (exit {outcome.exit_code}); `steno show @last` tells more")


def _tell_of_the_filter(observed: KernelObserved) -> None:
    """What the command may have noticed of being watched."""
    if observed.privilege_lost:
        say("a set-user-id program ran without its privilege: only root can watch one that gains any")
        say_hint("run `steno run` as the user that the command needs, or go without with `--observer none`")
    if observed.listeners_refused:
        say(
            "a program asked for a seccomp listener of its own and was refused (EBUSY): the kernel allows one"
        )
        say_hint("if it does not work so, record it with `--observer none`")
