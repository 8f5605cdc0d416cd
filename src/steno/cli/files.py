"""`steno files`: the files that a run changed or read."""

from __future__ import annotations

import sys

import click

from steno.cli.opening import (
    json_option,
    open_run,
    paint,
    print_json,
    print_lines,
    recorded_path,
    run_argument,
    say,
    store_option,
    terminal_width,
)
from steno.views import file_diff, file_list
from steno.views.file_list import Choice, Wanted
from steno.views.kernel_layer import KernelLayer, Seen
from steno.views.record import open_record


@click.command(
    "files",
    epilog="""\b
Letters:
  A  created    M  content changed    D  deleted    m  only mode, owner or times changed
  r  read       -  only looked at     t  created, and gone again
  ?  its state after the run is not known

After the letter: how much larger or smaller it became (its size, if it did not change), and what it was to
git: clean, dirty, untracked, ignored, or - outside of any repository.

\b
Examples:
  steno files @last
  steno files @last --diff src/
  steno files @last --read '*.env'
  steno files @last --diff | patch --dry-run -R -p1 -d /
  steno files @last --all --json | jq -r '.files[] | select(.change == "deleted") | .path'

A PATH is a file, a directory, or a pattern in which * stands for any letters, also for /.
A content that holds a secret is kept encrypted, and --diff does not show it.""",
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

    Files below ignored paths, special files, and files of others that the user cannot write are not
    recorded. With --json each file has both states in full.
    """
    with open_run(run, store) as folder, open_record(folder) as record:
        layer = KernelLayer(record)
        wanted = Wanted(choice, tuple(map(recorded_path, paths)))
        found = list(file_list.chosen(layer.files(), wanted))
        if not found and not as_json:
            say(
                "the run changed no file"
                if choice is Choice.CHANGED and not paths
                else "there is no such file"
            )
        if as_json:
            print_json(_to_json(layer, found, diff=diff))
        elif diff:
            _print_diff(layer, found)
        else:
            print_lines(file_list.lines(found, paint(), width=terminal_width()))


def _print_diff(layer: KernelLayer, found: list[Seen]) -> None:
    """A patch is data for the next program, byte for byte; on a terminal it is text like any other."""
    colours = paint()
    with file_diff.kept_contents(layer.run) as contents:
        for seen in found:
            lines = file_diff.diff(seen.file, contents)
            if sys.stdout.isatty():
                print_lines(file_diff.shown(line, colours) for line in lines)
            else:
                sys.stdout.buffer.writelines(lines)


def _to_json(layer: KernelLayer, found: list[Seen], *, diff: bool) -> dict[str, object]:
    files = [seen.told for seen in found]
    if diff:
        with file_diff.kept_contents(layer.run) as contents:
            texts = [b"".join(file_diff.diff(seen.file, contents)) for seen in found]
        decoded = [text.decode("utf-8", "backslashreplace") for text in texts]
        files = [{**told, "diff": text} for told, text in zip(files, decoded, strict=True)]
    return {"schema": file_list.SCHEMA, "run_id": layer.run_id, "files": files}
