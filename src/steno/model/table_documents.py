"""Tables of a run as documents, which a page carries: also of a record that lost something else.

Canonical JSON has for each column the values of all rows; the columns of a state stand below its name. Bytes
are in base64.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from steno.evidence import canonical, layout
from steno.judge.calls.types import Call, Check, Claim, Effects
from steno.judge.connections import Network
from steno.judge.judgement import Judgement
from steno.judge.types import Connection, DirectoryRename, Exec, File, Process, Row, Unaddressed
from steno.model.documents import Documents
from steno.model.tables import types_of

PLACE = "tables"
_ENDING = ".json"


class _Source(NamedTuple):
    row: type[Row]
    document: str  # without it a record has no such table
    made: Callable[[Judgement], Iterable[Row]]


def network_of(judgement: Judgement) -> Network:
    return Network(judgement.accesses(), judgement.processes)


def _of_the_run(judgement: Judgement) -> list[Process]:
    """All processes but those of Steno's own hooks."""
    return [one for one in judgement.processes if not one.is_our_hook]


_SOURCES = {
    "calls": _Source(Call, layout.CALLS, lambda judgement: judgement.calls.calls),
    "checks": _Source(Check, layout.CALLS, lambda judgement: judgement.calls.checks),
    "claims": _Source(Claim, layout.CALLS, lambda judgement: judgement.calls.claims),
    "connections": _Source(Connection, layout.PROCESSES, lambda judgement: network_of(judgement).connections),
    "directory_renames": _Source(
        DirectoryRename, layout.FILES, lambda judgement: judgement.files.directory_renames
    ),
    "effects": _Source(Effects, layout.CALLS, lambda judgement: judgement.calls.effects),
    "execs": _Source(
        Exec, layout.PROCESSES, lambda judgement: (run for one in _of_the_run(judgement) for run in one.execs)
    ),
    "files": _Source(File, layout.FILES, lambda judgement: judgement.files.files),
    "processes": _Source(Process, layout.PROCESSES, _of_the_run),
    "unaddressed": _Source(
        Unaddressed, layout.PROCESSES, lambda judgement: network_of(judgement).unaddressed
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


def has(documents: Documents, path: str) -> bool:
    return documents.has(_source(path).document)


def read(documents: Documents, path: str) -> Iterator[bytes]:
    """What is wrong with the record is told when the first block is asked for."""
    source = _source(path)
    yield canonical.encode(_in_columns(source.row, list(source.made(documents.judgement))))


def _source(path: str) -> _Source:
    return _SOURCES[path.removeprefix(f"{PLACE}/").removesuffix(_ENDING)]


def _in_columns(row: type[Row], found: Sequence[Any]) -> dict[str, Any]:
    return {
        name: _column(hint, [getattr(one, name) for one in found]) for name, hint in types_of(row).items()
    }


def _column(hint: Any, values: list[Any]) -> Any:
    if isinstance(hint, type) and issubclass(hint, Row):
        return _in_columns(hint, values)
    return [b64encode(value).decode() if isinstance(value, bytes) else value for value in values]
