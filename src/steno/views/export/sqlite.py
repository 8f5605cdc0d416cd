"""The tables of a run as one SQLite database, `steno-<run_id>.sqlite`.

Lists and states are JSON text, which SQLite's own functions read: `json_extract(before, '$.size')`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from steno.model.run import Run
from steno.model.tables import Table, plain
from steno.views.export import Exported
from steno.views.export.placing import place_below

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
