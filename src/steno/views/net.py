"""The addresses that a run talked to: the lines of `steno net`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steno.evidence import layout
from steno.judge.types import Connection
from steno.model.documents import connection_json
from steno.model.run import Run
from steno.text import units
from steno.text.safe import cut, listed, visible
from steno.text.style import Paint
from steno.text.table import GAP, aligned

SCHEMA = "steno.net.v1"
_DOCUMENTS = (layout.KERNEL_LINES, layout.PROCESSES)
_HEADINGS = ("FIRST", "COUNT", "CALLS", "ENDPOINT", "OUTCOME", "PROCESSES")
_AT_ENDPOINT = _HEADINGS.index("ENDPOINT")
_NARROW = 60
_PROCESSES_SHOWN = 3


def to_json(run: Run) -> dict[str, Any]:
    run.expect(*_DOCUMENTS)
    found = run.network
    return {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "endpoints": [connection_json(one) for one in found.connections if not one.is_unix],
        "unix_sockets": [connection_json(one) for one in found.connections if one.is_unix],
        "sockets": dict(found.sockets),
        "addressless": dict(found.addressless),
    }


def lines(run: Run, paint: Paint, *, width: int | None) -> Iterator[str]:
    run.expect(*_DOCUMENTS)
    names = run.descent.labels
    connections = list(run.connections)
    endpoints = [one for one in connections if not one.is_unix]
    unix = [one for one in connections if one.is_unix]
    if endpoints:
        yield from _table(endpoints, "ENDPOINT", names, paint, width)
    if unix:
        if endpoints:
            yield ""
        yield from _table(unix, "UNIX SOCKET", names, paint, width)
    rest = [
        f"{one.sockets}: {units.counted(one.times, 'socket')}"
        if one.sockets is not None
        else f"{one.operation} on a descriptor: {one.times}"
        for one in run.unaddressed
    ]
    if rest:
        if connections:
            yield ""
        for words in rest:
            text = visible(words)
            yield paint("faint", text if width is None else cut(text, width))


def _table(
    found: list[Connection], heading: str, names: dict[int, str], paint: Paint, width: int | None
) -> Iterator[str]:
    if width is not None and width < _NARROW:
        yield from _stacked(found, heading, paint, width)
        return
    headings = [heading if place == _AT_ENDPOINT else word for place, word in enumerate(_HEADINGS)]
    cells = aligned([headings, *(_cells(one, names) for one in found)])
    for line, one in zip(cells, [None, *found], strict=True):
        text = GAP.join(line).rstrip()
        text = text if width is None else cut(text, width)
        yield paint("heading", text) if one is None else paint("bad", text) if one.errors else text


def _stacked(found: list[Connection], heading: str, paint: Paint, width: int) -> Iterator[str]:
    """Two lines each on a narrow terminal: the address, then what came of it."""
    yield paint("heading", cut(heading, width))
    for one in found:
        role = "bad" if one.errors else None
        for text in (_shown(one), f"{GAP}{one.outcome or _calls(one)}"):
            kept = cut(visible(text), width)
            yield paint(role, kept) if role else kept


def _cells(one: Connection, names: dict[int, str]) -> tuple[str, ...]:
    who = [f"{names.get(number, '?')}[{number}]" for number in one.processes]
    return (
        units.duration(one.first_ns),
        str(one.times),
        visible(_calls(one)),
        _shown(one),
        visible(one.outcome or "-"),
        listed(who, _PROCESSES_SHOWN),
    )


def _calls(one: Connection) -> str:
    return ", ".join(one.calls)


def _shown(one: Connection) -> str:
    return visible(one.name) or "(unnamed)"
