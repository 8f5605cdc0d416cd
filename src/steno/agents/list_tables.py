"""`steno agent list` as two tables: the agents, and their runs.

In: what `listing` found, and the width of the terminal, if there is one. Out: lines under headings, none
wider than the terminal. How a run ended is cut where there is no room for it, `steno agent status` has all of
it; where an agent is, and what is wrong with one, is folded instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from steno.agents.listing import how_it_ended
from steno.text.safe import columns, cut, pad, visible
from steno.text.style import Paint, folded

_GAP = "  "
_AGENTS = ("AGENT", "PROGRAM")
_RUNS = ("RUN", "ATTEMPT", "ENDED")
_LEAST_ROOM = 12  # columns; with less nothing of an end would be seen
_PLAIN = Paint()


def lines_of_agents(
    agents: Sequence[dict[str, Any]], *, width: int | None = None, paint: Paint = _PLAIN
) -> Iterator[str]:
    names = [visible(agent["name"]) for agent in agents]
    wide = max(map(columns, (_AGENTS[0], *names)))
    yield paint("heading", cut(f"{pad(_AGENTS[0], wide)}{_GAP}{_AGENTS[1]}", _whole(width)))
    for name, agent in zip(names, agents, strict=True):
        yield from folded(_lines_of_agent(pad(name, wide), agent), width=width, indent=wide + len(_GAP))


def _lines_of_agent(name: str, agent: dict[str, Any]) -> Iterator[str]:
    yield f"{name}{_GAP}{visible(agent.get('program') or agent['problem'])}"
    if agent.get("problem") and agent.get("install"):
        yield f"{pad('', columns(name))}{_GAP}install it: {visible(agent['install'])}"


def lines_of_list(
    runs: Sequence[dict[str, Any]], *, width: int | None = None, paint: Paint = _PLAIN
) -> Iterator[str]:
    if not runs:
        return
    told = [_cells(run) for run in runs]
    widths = [max(columns(line[place]) for line in (_RUNS, *told)) for place in range(2)]
    room = _whole(width) - sum(widths) - 2 * len(_GAP)
    narrow = room < _LEAST_ROOM
    if not narrow:
        yield paint("heading", _row(_RUNS, widths, room))
    for cells, run in zip(told, runs, strict=True):
        yield from _stacked(cells, _whole(width)) if narrow else [_row(cells, widths, room)]
        if "problem" in run:
            yield paint("warning", cut(f"{_GAP}{visible(run['problem'])}", _whole(width)))


def _cells(run: dict[str, Any]) -> tuple[str, str, str]:
    last = run["attempts"][-1] if run["attempts"] else None
    number, ended = ("-", "no attempt") if last is None else (str(last["number"]), how_it_ended(last))
    return visible(run["runId"]), number, visible(ended)


def _row(cells: Sequence[str], widths: Sequence[int], room: int) -> str:
    *first, last = cells
    return _GAP.join([*map(pad, first, widths), cut(last, room)])


def _stacked(cells: tuple[str, str, str], width: int) -> list[str]:
    run, number, ended = cells
    return [cut(ended, width), cut(f"{_GAP}{run} attempt {number}", width)]


def _whole(width: int | None) -> int:
    """What goes to a file or another program is not cut."""
    return 1 << 30 if width is None else width
