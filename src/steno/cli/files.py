"""`steno files`: the files that a run changed or read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from steno.cli.options import (
    json_option,
    open_run,
    recorded_path,
    run_argument,
    say_if_not_sealed,
    store_option,
)
from steno.cli.output import paint, print_json, print_paged, say, terminal_width
from steno.evidence.layout import FILES, SURFACE
from steno.judge.types import File
from steno.model.contents import NotKept
from steno.model.documents import file_json
from steno.model.run import Run
from steno.views import file_diff
from steno.views import files as file_list
from steno.views.file_diff import painted
from steno.views.files import Choice, Wanted, not_kept_lines

_PATTERN = frozenset(b"*?[")


@click.command(
    "files",
    epilog="""\b
Letters:
  A  created    M  content changed    D  deleted    m  only mode, owner or times changed
  r  read       -  only looked at     t  created, and gone again
  o  changed by somebody else while the run only looked at it
  ?  its state after the run is not known, or not kept

After the letter: how much larger or smaller it became (its size, if it did not change), and what it was to
git: clean, dirty, untracked, ignored, or - outside of any repository.

\b
Examples:
  steno files @last
  steno files @last --diff src/
  steno files @last --read '*.env'
  steno files @last --diff | patch --dry-run -R -p1 -d /
  steno files @last --all --json | jq -r '.files[] | select(.change == "deleted") | .path'

A PATH is a file, a directory, or a pattern in which * stands for any letters, also for /. A relative
pattern begins where the run did; one without / is also compared with the last name of every path.
A content that holds a secret is kept encrypted, and --diff does not show it. On a terminal the words that
changed in a line stand out; CLICOLOR_FORCE=1 gives the same to a program that understands colours.""",
)
@run_argument
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=bytes))
@click.option(
    "--changed",
    "choice",
    flag_value=Choice.CHANGED,
    default=Choice.CHANGED,
    help="Files it changed (default).",
)
@click.option("--read", "choice", flag_value=Choice.READ, help="Files it read or executed, changed or not.")
@click.option("--all", "choice", flag_value=Choice.ALL, help="Every path it touched, or only looked for.")
@click.option("--diff", is_flag=True, help="Show what changed in them, as a patch.")
@store_option
@json_option
def command(
    run: str, paths: tuple[bytes, ...], choice: Choice, diff: bool, store: str | None, as_json: bool
) -> None:
    """List the files that a run changed, or read, with their states before and after.

    Of files below ignored paths, inside .git, and of special files no state is kept: those that the run
    created, opened to write or deleted are counted at the end, and --all lists them. Files of others that
    the user cannot write are not recorded. With --json each file has both states in full. Of a run that is
    still going on, every changed file is `?`: how it is left is known when it has ended.
    """
    with open_run(run, store) as opened:
        say_if_not_sealed(opened)
        opened.expect(FILES, SURFACE)
        files = list(opened.files)
        cwd = os.fsencode(opened.facts.start.cwd)
        wanted = Wanted(choice, tuple(one for path in paths for one in _meant(path, cwd)))
        found = list(file_list.chosen(files, wanted))
        names = (file.name for file in files)
        unkept = file_list.chosen_not_kept(opened.not_kept(names), wanted)
        if as_json:
            print_json(_to_json(opened, found, unkept, diff=diff))
            return
        if not found and not (unkept and choice == Choice.ALL):
            say(_none_found(choice, unkept, by_name=bool(paths)))
        if diff:
            _print_diff(opened, found)
        else:
            listed = unkept if choice == Choice.ALL else []
            print_paged(file_list.lines(found, paint(), width=terminal_width(), unkept=listed))
    if diff or choice != Choice.ALL:
        for line in not_kept_lines(unkept):
            say(line)


def _none_found(choice: Choice, unkept: list[NotKept], *, by_name: bool) -> str:
    none = "there is no such file" if by_name or choice != Choice.CHANGED else "the run changed no file"
    return f"{none} among those whose states are kept" if unkept else none


def _print_diff(run: Run, found: list[File]) -> None:
    """A patch is data for the next program, byte for byte; in colour, and on a terminal, it is text."""
    colours = paint()
    with run.contents() as contents:
        lines = (line for file in found for line in file_diff.diff(file, contents))
        if sys.stdout.isatty() or colours.colour:
            print_paged(painted(lines, colours))
        else:
            sys.stdout.buffer.writelines(lines)


def _meant(path: bytes, cwd: bytes) -> Iterator[bytes]:
    """What a word may mean. A pattern never depends on where it is asked."""
    if not _PATTERN.intersection(path) or path.startswith(b"/"):
        yield recorded_path(path)
        return
    yield os.path.join(cwd, path)  # noqa: PTH118 - bytes
    if path.startswith(b"*"):
        yield path
    elif b"/" not in path:
        yield b"*/" + path


def _to_json(run: Run, found: list[File], unkept: list[NotKept], *, diff: bool) -> dict[str, object]:
    files = list(map(file_json, found))
    if diff:
        with run.contents() as contents:
            texts = [b"".join(file_diff.diff(file, contents)) for file in found]
        decoded = [text.decode("utf-8", "backslashreplace") for text in texts]
        files = [{**told, "diff": text} for told, text in zip(files, decoded, strict=True)]
    return {
        "schema": file_list.SCHEMA,
        "run_id": run.run_id,
        "files": files,
        "not_kept": [one.to_json() for one in unkept],
    }
