"""The commands that read runs: each prints what the view of its name says."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click
import msgspec

from steno.cli.options import (
    existing_store,
    json_option,
    reading,
    recorded_path,
    run_argument,
    run_path,
    say_if_not_sealed,
    say_if_told_so_far,
    store_option,
)
from steno.cli.output import paint, print_json, print_paged, say, say_hint, terminal_width
from steno.evidence.layout import FILES, SURFACE
from steno.evidence.wire import OPS
from steno.text.safe import visible_json

# What a command needs is imported when it runs: start-up has a budget.
if TYPE_CHECKING:
    from steno.judge.types import File
    from steno.model.run import Run


@click.command(
    "list",
    epilog="""\b
States:
  sealed     the record is finished; `steno verify` checks it
  running    its recorder is alive
  orphaned   its recorder was killed, and its command goes on; when that has ended, `steno recover` seals it
  unsealed   its recorder was killed; `steno recover` seals what was recorded
  damaged    it cannot be read; `steno verify` says why

\b
Examples:
  steno list --limit 10
  steno list --json | jq -r '.runs[] | select(.exit_code != 0) | .run_id'""",
)
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Show the newest N runs only (0: all).")
@store_option
@json_option
def list_command(limit: int | None, store: str | None, as_json: bool) -> None:
    """List the recorded runs, newest first.

    AGE is how long ago a run began, TIME how long it took, EXIT the command's exit code (128+n when signal
    n ended it). A line is cut to the width of the terminal; a narrow one has two lines a run.
    """
    from steno.model import runs
    from steno.views import list as listing

    place = existing_store(store)
    rows = list(runs.rows(place, limit or None))
    if as_json:
        print_json({"store": str(place.absolute()), "runs": [listing.to_json(row) for row in rows]})
        return
    if not rows:
        say(f"no runs in {place} yet")
        say_hint("record one with `steno run -- COMMAND`")
    print_paged(
        listing.table(rows, width=terminal_width(), now_ms=time.time_ns() // 1_000_000, paint=paint())
    )


@click.command(
    "show",
    epilog="""\b
Examples:
  steno show @last
  steno show 2026-01-25T12-00
  steno show ./2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz
  steno show @last --json | jq .repo.changes
  steno show @last --json | jq '.files["capability-surface.json"].network_endpoints'

With --json the summary has `files` beside it: processes.json, files.json, calls.json, capability-surface.json
and correlation-report.json as this Steno concludes them. Single events are in `steno events --json`, the
terminal is in `steno play --json`, contents of files are in `steno files --diff --json`.""",
)
@run_argument
@store_option
@json_option
def show_command(run: str, store: str | None, as_json: bool) -> None:
    """Say what one run was and did.

    Begins with the state of the record itself: sealed and complete, sealed with gaps, or not sealed. A run
    that is still going on, or whose recorder was killed, shows the facts so far. RUN is the id of a run, a
    unique beginning of one, a path (a directory or a packed bundle), or @last.

    On a terminal, what is longer than the screen goes through $STENO_PAGER, else $PAGER, else less; an empty
    one says that no pager is wanted. NO_COLOR, CLICOLOR and CLICOLOR_FORCE are heeded.
    """
    from steno.model.run import Run
    from steno.model.runs import open_path
    from steno.views import show

    path = run_path(run, store)
    with Run(open_path(path)) as opened:
        found = show.summary(opened, path.absolute())
        if as_json:
            print_json({**found, "files": show.told_files(opened)})
            return
    print_paged(show.lines(found, paint(), width=terminal_width()))


@reading(
    "tree",
    epilog="""\b
Columns:
  EXIT      exit code, or the signal that ended it; `alive`: it was still running when the command had
            ended; `?`: its end was not seen
  TIME      from its first to its last moment; for several processes, of all of them together
  FILES     files that came out changed, and that it had opened to write or had changed itself
  PROCESS   what it executed last: `a → b` says that it was `a` before. `(sh, forked)` executed nothing
            and went on as a copy of its parent. `prog (as words)` calls itself by another name.

\b
Examples:
  steno tree @last
  steno tree @last --all | grep cc1
  steno tree @last --json | jq '.processes[] | select(.exit.code != 0) | .execs[-1].argv'

With --json the processes are a flat list in the order they appeared; `parent` is the number of another
process, or 0 when the recorder started it or its parent is not known.""",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Give every process a line, those of Steno's own hooks too; collapse nothing.",
)
def tree_command(opened: Run, every: bool, as_json: bool) -> None:
    """Show the processes of a run as a tree: what each one executed, and how it ended.

    Arguments are recorded without their secrets. Processes that did the same, with all they started, share
    one line (`500 x`); of many that ran one program with different arguments the first ones are shown, and
    the others counted. On a terminal a line is cut to its width. Of a run that is still going on, what was
    seen so far is shown.
    """
    from steno.views import tree

    say_if_not_sealed(opened)
    if as_json:
        print_json(tree.to_json(opened))
    else:
        print_paged(tree.lines(opened, paint(), width=terminal_width(), every=every))


_PATTERN = frozenset(b"*?[")


@reading(
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
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=bytes))
@click.option(
    "--changed",
    "choice",
    flag_value="changed",
    default="changed",
    help="Files it changed (default).",
)
@click.option("--read", "choice", flag_value="read", help="Files it read or executed, changed or not.")
@click.option("--all", "choice", flag_value="all", help="Every path it touched, or only looked for.")
@click.option("--diff", is_flag=True, help="Show what changed in them, as a patch.")
def files_command(opened: Run, paths: tuple[bytes, ...], choice: str, diff: bool, as_json: bool) -> None:
    """List the files that a run changed, or read, with their states before and after.

    Of files below ignored paths, inside .git, and of special files no state is kept: those that the run
    created, opened to write or deleted are counted at the end, and --all lists them. Files of others that
    the user cannot write are not recorded. With --json each file has both states in full. Of a run that is
    still going on, every changed file is `?`: how it is left is known when it has ended.
    """
    from steno.views import files as file_list
    from steno.views.files import Choice, FileFilter, not_kept_lines

    say_if_not_sealed(opened)
    opened.expect(FILES, SURFACE)
    files = list(opened.files)
    cwd = os.fsencode(opened.facts.start.cwd)
    wanted = FileFilter(Choice(choice), tuple(one for path in paths for one in _meant(path, cwd)))
    found = list(file_list.chosen(files, wanted))
    names = (file.name for file in files)
    unkept = file_list.chosen_not_kept(opened.not_kept(names), wanted)
    if as_json:
        print_json(file_list.to_json(opened, found, unkept, diff=diff))
        return
    if not found and not (unkept and wanted.choice is Choice.ALL):
        say(file_list.none_found(wanted.choice, unkept, by_name=bool(paths)))
    if diff:
        _print_diff(opened, found)
    else:
        listed = unkept if wanted.choice is Choice.ALL else []
        print_paged(file_list.lines(found, paint(), width=terminal_width(), unkept=listed))
    if diff or wanted.choice is not Choice.ALL:
        for line in not_kept_lines(unkept):
            say(line)


def _print_diff(run: Run, found: list[File]) -> None:
    """A patch is data for the next program, byte for byte; in colour, and on a terminal, it is text."""
    from steno.views import file_diff

    colours = paint()
    with run.contents() as contents:
        lines = (line for file in found for line in file_diff.diff(file, contents))
        if sys.stdout.isatty() or colours.colour:
            print_paged(file_diff.painted(lines, colours))
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


@reading(
    "net",
    epilog="""\b
Columns:
  FIRST      when it was first used, since the run began
  COUNT      how many calls named it
  CALLS      connect, bind, listen, accept, send; in brackets the errors that are known
  ENDPOINT   the address; names are not looked up
  OUTCOME    of connecting: connected; refused or failed, with the errors; attempted, outcome not seen;
             address set, sending not seen: on a datagram socket connecting sends nothing
  PROCESSES  program[number], as in `steno tree`

\b
Examples:
  steno net @last
  steno net @last --json | jq -r '.endpoints[] | select(.operations.connect) | .name'
  steno net @last --json | jq '.unix_sockets'

A call is seen before it is made, and a program that does not wait is told later what came of it: then the
outcome was not seen. It may have been reached, or not. Where the socket may have been of either kind, it is
connected, or only an address set. Netlink and the end of a connection have no endpoint. On a narrow terminal
each endpoint has two lines.""",
)
def net_command(opened: Run, as_json: bool) -> None:
    """List every address that a run connected to, bound, listened on or sent to.

    Unix sockets are listed apart. Below are the sockets that were made, and calls on a descriptor whose
    address the call does not tell. Of a run that is still going on, what was seen so far is shown.
    """
    from steno.views import net

    say_if_not_sealed(opened)
    if as_json:
        print_json(net.to_json(opened))
        return
    lines = list(net.lines(opened, paint(), width=terminal_width()))
    if not lines:
        say("the run did not use the network")
    print_paged(lines)


_OPERATIONS = [op.name for op in OPS.values()]
_CATEGORIES = sorted({op.category for op in OPS.values()})


@reading(
    "events",
    epilog="""\b
A line: seconds since the run began, number of the process (as in `steno tree`), operation, path or address,
what the operation says beside it, the error if one is known, and in square brackets what is special.

\b
Examples:
  steno events @last --limit 20
  steno events @last --op exec
  steno events @last --category net
  steno events @last --process 3 --path '*/config/*'
  steno events @last --path 'inet:*:443' --json | jq -r .mono_ns

With --json each line is one event: mono_ns, process, tid, op, category, call (the system call), path (as
it was asked for), resolved (links followed), extra, result (ok, unknown or the error), notes, arg, arg2, and
state (what was found there before the call). A name that is not UTF-8 has its bytes beside it, as base64.""",
)
@click.option("--op", type=click.Choice(_OPERATIONS), metavar="OP", help="Only this operation, such as open.")
@click.option("--process", type=click.IntRange(0, 2**31 - 1), metavar="N", help="Only process number N.")
@click.option("--path", metavar="GLOB", help="Only paths or addresses like this; * stands for any letters.")
@click.option("--category", type=click.Choice(_CATEGORIES), help="Only events of this kind.")
@click.option("--all", "every", is_flag=True, help="Also those of Steno's own hooks.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Stop after N events.")
def events_command(
    opened: Run,
    op: str | None,
    process: int | None,
    path: str | None,
    category: str | None,
    limit: int | None,
    every: bool,
    as_json: bool,
) -> None:
    """Print every event that the kernel observer saw, in order.

    Nothing is summed up, and nothing left out but what Steno's own hooks did; `steno tree`, `steno files` and
    `steno net` are made of these. The options choose, and only what meets all of them is printed. Of a run
    that is still going on, what was seen so far is shown.
    """
    from steno.model.events import Wanted, to_json
    from steno.views import events

    say_if_not_sealed(opened)
    pattern = None if path is None else os.fsencode(path)
    wanted = Wanted(op, process, pattern, category, limit, hooks=every)
    rows = opened.recorded_calls(wanted)
    if as_json:
        _print_objects(to_json(row) for row in rows)
    else:
        colours, width = paint(), terminal_width()
        print_paged(events.line(row, colours, width=width) for row in rows)


def _print_objects(objects: Iterable[dict[str, object]]) -> None:
    """There may be millions, so they are written as they are, without a check of each."""
    encode = msgspec.json.Encoder(order="sorted").encode
    on_terminal = sys.stdout.isatty()
    for one in objects:
        text = encode(one)
        if on_terminal:
            click.echo(visible_json(text.decode()))
        else:
            sys.stdout.buffer.write(text + b"\n")


@reading(
    "calls",
    epilog="""\b
Verdicts:
  confirmed     the kernel saw what was said
  contradicted  the kernel saw something else; the rule says what
  unobserved    nothing that was seen bears it out or speaks against it
  denied        policy refused it; it has no effects
  ambiguous     what was seen may belong to another call

\b
Columns:
  SAID        which agent told of it; self-reported until something else bears it out
  POLICY      what the proxy decided
  KERNEL SAW  files read and changed, endpoints and sockets tried, programs run, by the call's own processes

\b
Examples:
  steno calls @last
  steno calls @last --call toolu_01
  steno calls @last --json | jq '.calls[] | select(.verdict == "contradicted")'
  steno calls @last --json | jq .unattributed.files.written

docs/calls.md names every rule.""",
)
@click.option("--call", "tool_call_id", metavar="ID", help="Everything about the call with this id.")
def calls_command(opened: Run, tool_call_id: str | None, as_json: bool) -> None:
    """List every tool call of a run: who said so, what policy decided, what the kernel saw, and a verdict.

    Below are what happened outside of every call, what may belong to one of several, and what the agent said
    at the end. Of a run that goes on it is what was told and seen so far: a verdict may still change.
    """
    from steno.model.documents import calls_json
    from steno.views import calls

    say_if_told_so_far(opened)
    found = opened.told_calls
    if tool_call_id is not None:
        found = found.only(tool_call_id)
    if as_json:
        print_json(calls_json(found))
        return
    if not found.calls and not found.claims:
        say("nobody told of a tool call")
    as_lines = calls.lines if tool_call_id is None else calls.details
    print_paged(as_lines(found, paint(), width=terminal_width()))


@reading(
    "surface",
    epilog="""\b
Examples:
  steno surface @last
  steno surface @last --project --all
  steno surface @last --json | jq -r '.network_endpoints[]'

`steno diff` compares two of them, `steno baseline` keeps one. docs/surface.md tells how names are made.""",
)
@click.option("--all", "everything", is_flag=True, help="List every entry, however many there are.")
@click.option(
    "--project", "projected", is_flag=True, help="Write $RUN_CWD, $HOME and $TMP for the run's directories."
)
def surface_command(opened: Run, everything: bool, projected: bool, as_json: bool) -> None:
    """Say what a run touched, reached and started: every file, endpoint and program once.

    What only ever failed stands apart, below the rest. With --json it is
    capability-surface.json of the spec, projected if that is asked for.
    """
    from steno.compare.sides import read_surface
    from steno.model import capabilities
    from steno.model.record import not_yet
    from steno.views import surface as surface_text

    if why_not := not_yet(opened.record, "its surface is"):
        raise why_not
    surface = read_surface(opened.documents)
    layer = surface["steno"]["kernel_layer"]
    if layer != "complete":
        say(f"the kernel layer is {layer}: there may be more than this")
    if as_json:
        print_json(capabilities.projected_surface(surface) if projected else surface)
        return
    found = capabilities.of_surface(surface, projected=projected)
    lines = list(surface_text.lines(found, paint(), everything=everything, width=terminal_width()))
    if not lines:
        say("the surface is empty")
    print_paged(lines)
