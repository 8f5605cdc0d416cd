"""Writes the tables of a run into docs/model.md: `python docs/generate_model.py --write`."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

from steno.judge import types as rows
from steno.model.run import Run
from steno.model.tables import Table, columns_of

PAGE = Path(__file__).parent / "model.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of the tables -->\n"


def tables() -> Iterator[tuple[str, type[rows.Row], str]]:
    """The name of each table of a `Run`, its row, and what is said of it."""
    for name, member in vars(Run).items():
        if isinstance(member, property) and not name.startswith("_"):
            hint = get_type_hints(member.fget, vars(sys.modules[Run.__module__])).get("return")
            if get_origin(hint) is Table:
                (row,) = get_args(hint)
                said = member.__doc__ or row.__doc__ or ""
                yield name, row, " ".join(said.split())


def generated() -> str:
    lines = ["| table | a row is | columns |", "| --- | --- | --- |"]
    for name, row, said in sorted(tables()):
        columns = ", ".join(f"`{column}` {kind}" for column, kind in columns_of(row))
        lines.append(f"| `{name}` | {said} | {columns} |")
    states = ", ".join(f"`{column}` {kind}" for column, kind in columns_of(rows.FileState))
    return "\n".join([*lines, "", f"A state has {states}.", ""])


def with_tables(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{generated()}{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(generated(), end="")
