"""Which run a word means, and the folder of a run, packed or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steno.bundle.folder import Folder
from steno.bundle.store import LAST, find_run
from steno.errors import RunNotFoundError, UnreadableBundleError


def names_path(word: str) -> bool:
    """Whether it is the path of something that is there."""
    return word != LAST and os.path.lexists(word)


def find(word: str, store: Path) -> Path:
    """Where the run is that a word names: `@last`, its path, the beginning of its id, or its own name.

    Whether it can be read is seen when it is opened.
    """
    if names_path(word):
        return find_run(Path(), word)
    try:
        return find_run(store, word)
    except RunNotFoundError:
        if (named := _named(store, word)) is None:
            raise
        return named


def _named(store: Path, name: str) -> Path | None:
    """The newest run that was given this name."""
    from steno.model import runs  # late: start-up has a budget

    found = (row.run_id for row in runs.rows(store) if name and row.name == name)
    run_id = next(found, None)
    return None if run_id is None else store / run_id


@contextmanager
def open_path(path: Path) -> Iterator[Folder]:
    """The folder of the run; a packed bundle is unpacked for the time it is looked at."""
    if os.path.isfile(path):  # noqa: PTH113 - unlike pathlib's, it does not raise for a name that is too long
        from steno.bundle.pack import unpacked  # late: tarfile is slow to start, and rarely needed

        with unpacked(path) as folder:
            yield folder
        return
    try:
        folder = Folder(path)
    except OSError as error:
        raise UnreadableBundleError(
            f"cannot open {path}: {error.strerror}", hint="name a run's directory"
        ) from error
    with folder:
        yield folder
