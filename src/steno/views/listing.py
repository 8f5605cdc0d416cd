"""The runs of a store, as rows and as a table.

In: a store. Out: one row a run, newest first, read from no more than the small files that are needed; a
run that cannot be read is a row that says `damaged`. Never raises for what it finds in a run, never follows
a link, never reads a stream.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steno.bundle.first_format import as_today
from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.bundle.store import RunState, run_ids, state_of
from steno.evidence import layout
from steno.judge.facts import RunFacts
from steno.views import measures
from steno.views.paint import Paint
from steno.views.plain import columns, cut, pad, visible

MAX_RUN_FILE = 4 << 20
UNKNOWN = "-"
_HEADINGS = ("RUN", "STATE", "AGE", "TIME", "EXIT", "COMMAND")
_GAP = "  "
# The name that `steno agent` gives to the recording of an attempt: it is that of the run directory.
_ATTEMPT = re.compile(r"\d{8}T\d{6}-(?P<agent>[a-z0-9._-]+)-[0-9a-f]{8} attempt \d+", re.ASCII)
_CHAIN = ("env", "--command")
_NARROW = 72  # below that nothing of a command would be seen
_ROLES = {
    RunState.RUNNING: "good",
    RunState.ORPHANED: "warning",
    RunState.UNSEALED: "warning",
    RunState.DAMAGED: "bad",
    RunState.SEALED: "faint",
}


class Row(NamedTuple):
    run_id: str
    state: RunState
    started_at_ms: int | None = None
    duration_ns: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    name: str | None = None
    command: list[str] | None = None
    complete: bool | None = None
    command_ns: int | None = None  # of the duration, what the command took

    @property
    def title(self) -> str:
        command = shlex.join(self.command) if self.command is not None else UNKNOWN
        if self.command and (attempt := _ATTEMPT.fullmatch(self.name or "")):
            return f"{attempt['agent']} {_agents_words(self.command)}".rstrip()
        return f"{self.name}: {command}" if self.name else command


def _agents_words(command: list[str]) -> str:
    """What the agent was given; strace's chain has the whole command of it in its last word."""
    if command[0] == _CHAIN[0] and command[-2:-1] == [_CHAIN[1]]:
        return command[-1].partition(" -- ")[2].partition(" ")[2]
    return shlex.join(command[1:])


class _StartData(msgspec.Struct):
    cmd_redacted: list[str]
    name: str | None = None


class _Start(msgspec.Struct):
    ts_ms: int
    data: _StartData


_start = msgspec.json.Decoder(_Start)


def rows(store: Path, limit: int | None = None) -> Iterator[Row]:
    for run_id in islice(run_ids(store), limit):
        yield row(store, run_id)


def row(store: Path, run_id: str) -> Row:
    try:
        with Folder(store / run_id, follow=False) as run:
            return row_of(run, run_id)
    except OSError:
        return Row(run_id, RunState.DAMAGED)


def row_of(run: Folder, run_id: str) -> Row:
    try:
        state = state_of(run)
        if state is RunState.SEALED:
            return _sealed_row(run, run_id)
        if state is not RunState.DAMAGED:
            return _spooled_row(run, run_id, state)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        # Whatever is wrong with it, `steno verify` says; a list says that something is.
        return Row(run_id, RunState.DAMAGED)
    return Row(run_id, RunState.DAMAGED)


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
    cells = [_HEADINGS, *(_cells(one, now_ms) for one in found)]
    widths = [max(columns(line[place]) for line in cells) for place in range(len(_HEADINGS) - 1)]
    room = None if width is None else max(width - sum(widths) - len(_GAP) * len(widths), 0)
    for line, one in zip(cells, [None, *found], strict=True):
        padded = [pad(cell, wide) for cell, wide in zip(line[:-1], widths, strict=True)]
        yield _painted(padded, line[-1] if room is None else cut(line[-1], room), one, paint)


def _stacked(found: list[Row], width: int, now_ms: int, paint: Paint) -> Iterator[str]:
    """Two lines a run on a narrow terminal: what became of it and what it was, then its id."""
    for one in found:
        run_id, state, age, _lasted, code, title = _cells(one, now_ms)
        ended = "" if code == UNKNOWN else f" exit {code}"
        first = cut(f"{state}{ended}{_GAP}{title}", width)
        if first.startswith(state):  # else the cut went through it, and a colour would be cut as well
            first = paint(_ROLES[one.state], state) + first[len(state) :]
        yield first
        yield paint("faint", cut(f"{_GAP}{run_id} {age}", width))


def _painted(padded: list[str], last: str, one: Row | None, paint: Paint) -> str:
    if one is None:
        return paint("heading", _GAP.join([*padded, last]))
    padded[1] = paint(_ROLES[one.state], padded[1])
    if one.exit_code:
        padded[4] = paint("bad", padded[4])
    return _GAP.join([*padded, last]).rstrip()


def _cells(one: Row, now_ms: int) -> tuple[str, ...]:
    started = one.started_at_ms
    lasted = one.duration_ns if one.command_ns is None else one.command_ns
    if one.state is RunState.RUNNING and started is not None:
        lasted = max(now_ms - started, 0) * 1_000_000
    return (
        one.run_id,
        str(one.state),
        UNKNOWN if started is None else measures.age(started, now_ms),
        UNKNOWN if lasted is None else measures.duration(lasted),
        UNKNOWN if one.exit_code is None else str(one.exit_code),
        visible(one.title),
    )


def _sealed_row(run: Folder, run_id: str) -> Row:
    facts = RunFacts.of(FolderLayers(as_today(run), run_id))
    return Row(
        run_id=run_id,
        state=RunState.SEALED,
        started_at_ms=facts.started_at_ms,
        duration_ns=facts.end_ns,
        exit_code=facts.exit_code,
        signal=facts.signal,
        name=facts.start.name,
        command=facts.start.cmd_redacted,
        complete=facts.complete,
        command_ns=facts.command_ns,
    )


def _spooled_row(run: Folder, run_id: str, state: RunState) -> Row:
    line = b""
    for block in run.read(f"{layout.SPOOL}/{layout.EVENTS}"):
        line += block
        if b"\n" in line or len(line) > MAX_RUN_FILE:
            break
    start = _start.decode(line.partition(b"\n")[0])
    return Row(
        run_id,
        state,
        started_at_ms=start.ts_ms,
        name=start.data.name,
        command=start.data.cmd_redacted,
        complete=None if state is RunState.RUNNING else False,
    )
