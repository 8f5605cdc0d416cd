"""An exported database looked at again: whether it holds what the run that it is a copy of gives here.

The file may be anybody's: it is opened to be read alone, nothing in it is run, and its tables are looked at
only where they are declared as an export declares them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steno.errors import UnreadableBundleError
from steno.model.run import Run
from steno.model.tables import Table
from steno.views.export.sqlite import declaration, values
from steno.views.export.tables_check import Stamp

_MOST_STEPS = 1_000_000  # of a look at the stamp, which is one row
_DECLARED = "SELECT name, sql FROM sqlite_master ORDER BY name"


class Database(NamedTuple):
    place: Path
    stamp: Stamp

    @property
    def harm(self) -> list[str]:
        """It holds no digests that it could disagree with."""
        return []

    def compared(self, run: Run) -> tuple[int, list[str]]:
        """How many tables a copy of the run has, and which of these are others."""
        tables = run.tables
        expected = {name: declaration(table) for name, table in tables.items()}
        with _opened(self.place) as database:
            declared: dict[str, str | None] = dict(database.execute(_DECLARED).fetchall())
            different = [f"{name}: is no table of this run" for name in sorted({*declared} - {*expected})]
            different += [f"{name}: is not in the copy" for name in sorted({*expected} - {*declared})]
            for name in sorted({*expected} & {*declared}):
                if declared[name] != expected[name]:
                    different.append(f"{name}: is not declared as an export declares it")
                elif not _is_same(database, tables[name]):
                    different.append(f"{name}: is not what follows from the evidence")
        return len(expected), different


def read_database(place: Path) -> Database:
    """What it says of itself: of which run, and by which rules."""
    with _opened(place) as database:
        database.set_progress_handler(lambda: 1, _MOST_STEPS)
        told = database.execute("SELECT rules, steno_version, run_id, root FROM about LIMIT 2").fetchall()
        try:
            ((rules, steno, run_id, root),) = told
            stamp = {"rules": rules, "steno": steno, "run_id": run_id, "root": root, "files": {}}
            return Database(place, msgspec.convert(stamp, Stamp))
        except (ValueError, msgspec.MsgspecError) as error:
            raise _unreadable(place, "its table `about` is not that of one run") from error


@contextmanager
def _opened(place: Path) -> Iterator[sqlite3.Connection]:
    try:
        address = f"{place.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA query_only = ON")
            yield database
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        raise _unreadable(place, str(error)) from None


def _is_same(database: sqlite3.Connection, table: Table[Any]) -> bool:
    """Row by row, so that neither is held whole."""
    told = database.execute(f'SELECT * FROM "{table.name}" ORDER BY rowid')  # noqa: S608 - a name of ours
    return all(_alike(one, other) for one, other in zip_longest(told, values(table)))


def _alike(told: tuple[object, ...] | None, expected: list[object] | None) -> bool:
    if told is None or expected is None:
        return False
    return [*told] == expected and [_kind(one) for one in told] == [_kind(one) for one in expected]


def _kind(value: object) -> type:
    """SQLite has no truth values."""
    return int if isinstance(value, bool) else type(value)


def _unreadable(place: Path, why: str) -> UnreadableBundleError:
    return UnreadableBundleError(
        f"{place} cannot be read as an exported database: {why}",
        hint="`steno export RUN --as sqlite` makes one",
    )
