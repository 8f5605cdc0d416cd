"""The list of runs, as a table for a terminal and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steno.model.runs import UNKNOWN, Row, RunState
from steno.text import units
from steno.text.safe import cut, visible
from steno.text.style import Paint
from steno.text.table import GAP, aligned

_HEADINGS = ("RUN", "STATE", "AGE", "TIME", "EXIT", "COMMAND")
_NARROW = 72  # below that nothing of a command would be seen
_ROLES = {
    RunState.RUNNING: "good",
    RunState.ORPHANED: "warning",
    RunState.UNSEALED: "warning",
    RunState.DAMAGED: "bad",
    RunState.SEALED: "faint",
}


def to_json(found: Row) -> dict[str, Any]:
    return {**found._asdict(), "state": str(found.state)}


def table(found: Iterable[Row], *, width: int | None, now_ms: int, paint: Paint) -> Iterator[str]:
    """The lines of the table, none wider than `width` if there is one; the command has what is left."""
    found = list(found)
    if not found:
        return
    if width is not None and width < _NARROW:
        yield from _stacked(found, width, now_ms, paint)
        return
    cells = aligned([_HEADINGS, *(_cells(one, now_ms) for one in found)], width=width)
    for line, one in zip(cells, [None, *found], strict=True):
        yield _painted(line, one, paint)


def _stacked(found: list[Row], width: int, now_ms: int, paint: Paint) -> Iterator[str]:
    """Two lines a run on a narrow terminal: what became of it and what it was, then its id."""
    for one in found:
        run_id, state, age, _lasted, code, title = _cells(one, now_ms)
        ended = "" if code == UNKNOWN else f" exit {code}"
        first = cut(f"{state}{ended}{GAP}{title}", width)
        if first.startswith(state):  # else the cut went through it, and a colour would be cut as well
            first = paint(_ROLES[one.state], state) + first[len(state) :]
        yield first
        yield paint("faint", cut(f"{GAP}{run_id} {age}", width))


def _painted(line: list[str], one: Row | None, paint: Paint) -> str:
    if one is None:
        return paint("heading", GAP.join(line))
    line[1] = paint(_ROLES[one.state], line[1])
    if one.exit_code:
        line[4] = paint("bad", line[4])
    return GAP.join(line).rstrip()


def _cells(one: Row, now_ms: int) -> tuple[str, ...]:
    started = one.started_at_ms
    lasted = one.duration_ns if one.command_ns is None else one.command_ns
    if one.state is RunState.RUNNING and started is not None:
        lasted = max(now_ms - started, 0) * 1_000_000
    return (
        one.run_id,
        str(one.state),
        UNKNOWN if started is None else units.age(started, now_ms),
        UNKNOWN if lasted is None else units.duration(lasted),
        UNKNOWN if one.exit_code is None else str(one.exit_code),
        visible(one.title),
    )
