"""What commands share: the RUN argument and its completion, their options, and opening what RUN names."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steno.bundle.store import LAST, RunState, run_ids, store_path
from steno.cli.output import say, say_hint
from steno.errors import StenoError, StoreError
from steno.model.runs import find, names_path, open_path

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from steno.model.run import Run

_Decorated = Callable[..., Any]
_NOT_SEALED = {
    RunState.RUNNING: "this run is still going on",
    RunState.ORPHANED: "the recorder of this run is gone and its command goes on",
    RunState.UNSEALED: "the recorder of this run is gone, and nothing is sealed",
}


def complete_run(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The runs that a half-typed RUN may mean, else files; for a shell: it never fails and never speaks."""
    try:
        known = [*run_ids(chosen_store(ctx.params.get("store"))), LAST]
    except StenoError:
        known = []
    return _words([word for word in known if word.startswith(incomplete)]) or _files(incomplete)


def complete_command(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell completes in a command of its own: a program that is on PATH, else files."""
    if ctx.params.get("words") or not incomplete or "/" in incomplete:
        return _files(incomplete)
    return _words(sorted({*_programs(incomplete)})) or _files(incomplete)


def _words(found: list[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # late: only a shell asks

    return [CompletionItem(word) for word in found]


def _files(incomplete: str) -> list[CompletionItem]:
    """Left to the shell, which knows better what there is."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _programs(beginning: str) -> Iterator[str]:
    for folder in set(os.get_exec_path()):
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(beginning) and os.access(entry, os.X_OK) and not entry.is_dir():
                    yield entry.name


run_argument = click.argument("run", metavar="RUN", shell_complete=complete_run)
runs_argument = click.argument("runs", metavar="RUN...", nargs=-1, shell_complete=complete_run)
store_option = click.option("--store", metavar="DIR", help="Where the runs are (default: $STENO_HOME).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def chosen_store(store: str | None) -> Path:
    return store_path(os.environ, store)


def existing_store(store: str | None) -> Path:
    """The store to read from. The usual one may not be there yet; one that somebody names must be."""
    place = chosen_store(store)
    if store is not None and not place.is_dir():
        raise StoreError(
            f"there is no store at {place}", hint="leave --store out for the usual one, or look for a typo"
        )
    return place


def run_path(word: str, store: str | None) -> Path:
    """Where the run is that a word names: `@last`, its path, the beginning of its id, or its own name.
    Whether it can be read is seen when it is opened."""
    return find(word, Path() if names_path(word) else existing_store(store))


@contextmanager
def open_run(word: str, store: str | None) -> Iterator[Run]:
    from steno.model.run import Run  # late: start-up has a budget

    with Run(open_path(run_path(word, store))) as run:
        yield run


def reading(name: str, *, epilog: str) -> Callable[[_Decorated], click.Command]:
    """A command that reads one run: with RUN, its own options, --store and --json, and the run is open."""

    def made(function: _Decorated) -> click.Command:
        @functools.wraps(function)
        def command(run: str, store: str | None, **options: Any) -> Any:
            with open_run(run, store) as opened:
                return function(opened, **options)

        own = vars(command).pop("__click_params__", [])
        for shared in (json_option, store_option):
            shared(command)
        vars(command)["__click_params__"] += own  # click reads them from the last to the first
        return click.command(name, epilog=epilog)(run_argument(command))

    return made


def say_if_not_sealed(run: Run) -> None:
    """Before what the kernel saw is shown: of a run that is not sealed it is not the whole."""
    if not run.is_sealed:
        run.kernel  # noqa: B018 - why there is nothing to show is told instead
        _say_so_far(run, "this is what was seen so far")


def say_if_told_so_far(run: Run) -> None:
    """The same of what programs told."""
    if not run.is_sealed:
        _say_so_far(run, "this is what was told and seen so far, and verdicts may change")


def _say_so_far(run: Run, what: str) -> None:
    say(f"{_NOT_SEALED.get(run.state, 'this run is not sealed')}: {what}")
    if run.state is not RunState.RUNNING:
        from steno.model.record import how_to_seal  # late: start-up has a budget

        say_hint(how_to_seal(run.state, run.run_id))


def recorded_path(path: bytes) -> bytes:
    """A path of the command line as a record names it: links above it followed, the last name as it is."""
    above, name = os.path.split(path.rstrip(b"/") or b"/")
    if name in {b"", b".", b".."}:
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(above or b"."), name)  # noqa: PTH118 - bytes
