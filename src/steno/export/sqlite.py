"""The tables of a run as one SQLite database with a stamp, and whether it is what a run gives."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

import msgspec

from steno.errors import UnreadableBundleError
from steno.export import Exported
from steno.export.atomic import place_below
from steno.export.tables import Stamp
from steno.model.run import Run
from steno.model.tables import Table, plain

NAME = "steno-{run_id}.sqlite"
_BLOCK = 1 << 18
_TYPES = {"int64": "INTEGER", "bool": "INTEGER", "binary": "BLOB"}


def export(run: Run, directory: Path) -> Exported:
    with TemporaryDirectory(prefix="steno-sqlite-") as scratch:
        made = Path(scratch, "run.sqlite")
        with closing(sqlite3.connect(made)) as database:
            for table in run.tables.values():
                _fill(database, table)
            database.commit()

        def write(out: IO[bytes]) -> None:
            with made.open("rb") as file:
                while block := file.read(_BLOCK):
                    out.write(block)

        return Exported(place_below(directory, NAME.format(run_id=run.run_id), write))


def _fill(database: sqlite3.Connection, table: Table[Any]) -> None:
    database.execute(declaration(table))
    places = ", ".join("?" * len(table.schema))
    database.executemany(f'INSERT INTO "{table.name}" VALUES ({places})', values(table))  # noqa: S608


def declaration(table: Table[Any]) -> str:
    """The names are our own: those of tables and of their columns."""
    columns = [f'"{field.name}" {_TYPES.get(str(field.type), "TEXT")}' for field in table.schema]
    return f'CREATE TABLE "{table.name}" ({", ".join(columns)})'


def values(table: Table[Any]) -> Iterator[list[Any]]:
    """The rows as the database has them."""
    for row in table:
        yield [json.dumps(one) if isinstance(one, list | dict) else one for one in plain(row).values()]


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
