"""What the reading commands share: the RUN argument, its options, and opening what it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from steno.bundle.folder import Folder
from steno.bundle.pack import unpacked
from steno.bundle.store import find_run, store_path
from steno.errors import UnreadableBundleError
from steno.events import canonical

_Decorated = Callable[..., Any]

run_argument = click.argument("run", metavar="RUN")
store_option = click.option("--store", metavar="DIR", help="Where the runs are (default: $STENO_HOME).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def chosen_store(store: str | None) -> Path:
    return store_path(os.environ, store)


@contextmanager
def open_run(word: str, store: str | None) -> Iterator[Folder]:
    """The folder of the run; a packed bundle is unpacked for the time it is looked at."""
    path = find_run(chosen_store(store) if not Path(word).exists() else Path(), word)
    if path.is_file():
        with unpacked(path) as folder:
            yield folder
        return
    try:
        folder = Folder(path)
    except OSError as error:
        raise UnreadableBundleError(f"cannot open {path}: {error.strerror}", hint="name a run's directory") from error
    with folder:
        yield folder


def print_json(value: Any) -> None:
    click.echo(canonical.encode(value).decode())
