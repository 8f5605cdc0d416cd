"""Tables of a run as documents, which a page carries: also of a record that lost something else.

In: what follows from the evidence. Out: canonical JSON: for each column the values of all rows; the columns
of a state stand below its name. Bytes are in base64. Each is written whole, as what it is made of is read.
"""

from __future__ import annotations

import typing
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from steno.bundle.judged import Files
from steno.evidence import canonical, layout
from steno.model import kernel_rows, rows
from steno.model.calls import calls_of
from steno.model.connections import Network
from steno.model.descent import Descent
from steno.model.file_rows import directory_renames, file_row
from steno.model.kernel_layer import Process, files_of, lines_in, processes_of

PLACE = "tables"
_ENDING = ".json"


class _Source(NamedTuple):
    row: type[rows.Row]
    document: str  # without it a record has no such table
    made: Callable[[Files], Iterable[rows.Row]]


def _files(documents: Files) -> Iterator[rows.File]:
    return (file_row(seen.file) for seen in files_of(documents))


def _network(documents: Files) -> Network:
    return Network(lines_in(documents, "net"), processes_of(documents))


def _of_the_run(documents: Files) -> list[Process]:
    """All processes but those of Steno's own hooks."""
    return [one for one in processes_of(documents) if one.role != rows.STENO]


def _processes(documents: Files) -> Iterator[rows.Process]:
    found = _of_the_run(documents)
    return kernel_rows.processes(found, Descent(found), goes_on=False)


def _execs(documents: Files) -> Iterator[rows.Exec]:
    return kernel_rows.execs(_of_the_run(documents))


_SOURCES = {
    "calls": _Source(rows.Call, layout.CALLS, lambda documents: calls_of(documents).table_rows()),
    "checks": _Source(rows.Check, layout.CALLS, lambda documents: calls_of(documents).check_rows()),
    "claims": _Source(rows.Claim, layout.CALLS, lambda documents: calls_of(documents).claim_rows()),
    "connections": _Source(
        rows.Connection, layout.PROCESSES, lambda documents: _network(documents).table_rows()
    ),
    "directory_renames": _Source(rows.DirectoryRename, layout.FILES, directory_renames),
    "effects": _Source(rows.Effects, layout.CALLS, lambda documents: calls_of(documents).effect_rows()),
    "execs": _Source(rows.Exec, layout.PROCESSES, _execs),
    "files": _Source(rows.File, layout.FILES, _files),
    "processes": _Source(rows.Process, layout.PROCESSES, _processes),
    "unaddressed": _Source(
        rows.Unaddressed, layout.PROCESSES, lambda documents: _network(documents).unaddressed_rows()
    ),
}
ROWS = {name: source.row for name, source in _SOURCES.items()}


def path_of(name: str) -> str:
    return f"{PLACE}/{name}{_ENDING}"


PATHS = tuple(map(path_of, _SOURCES))
# What all tables together are made of.
DOCUMENTS = (
    *(layout.HEALTH, layout.PROCESSES, layout.FILES, layout.KERNEL_LINES),
    *(layout.SURFACE, layout.CALLS, layout.CORRELATION),
)


def has(documents: Files, path: str) -> bool:
    return documents.has(_source(path).document)


def read(documents: Files, path: str) -> Iterator[bytes]:
    """What is wrong with the record is told when the first block is asked for."""
    source = _source(path)
    yield canonical.encode(_in_columns(source.row, list(source.made(documents))))


def _source(path: str) -> _Source:
    return _SOURCES[path.removeprefix(f"{PLACE}/").removesuffix(_ENDING)]


def _in_columns(row: type[rows.Row], found: Sequence[rows.Row]) -> dict[str, Any]:
    hints = typing.get_type_hints(row)
    return {
        name: _column(hints[name], [getattr(one, name) for one in found]) for name in row.__struct_fields__
    }


def _column(hint: Any, values: list[Any]) -> Any:
    if isinstance(hint, type) and issubclass(hint, rows.Row):
        return _in_columns(hint, values)
    return [b64encode(value).decode() if isinstance(value, bytes) else value for value in values]
