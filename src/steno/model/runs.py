"""The runs of a store, newest first: what is known of each without reading more than its small files.

A run that cannot be read is a row that says `damaged`. Nothing that is found in a run raises.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.manifest import NewerFormatError
from steno.bundle.reader import FolderLayers, open_sealed
from steno.bundle.store import LAST, RunState, find_run, run_ids, state_of
from steno.errors import RunNotFoundError, UnreadableBundleError
from steno.evidence import layout
from steno.judge.facts import RunFacts

__all__ = ["UNKNOWN", "Row", "RunState", "row", "row_of", "rows", "run_ids", "running"]

MAX_RUN_FILE = 4 << 20
UNKNOWN = "-"
# The name that `steno agent` gives to the recording of an attempt: it is that of the run directory.
_ATTEMPT = re.compile(r"\d{8}T\d{6}-(?P<agent>[a-z0-9._-]+)-[0-9a-f]{8} attempt \d+", re.ASCII)
_CHAIN = ("env", "--command")


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
    note: str | None = None  # why more is not known

    @property
    def title(self) -> str:
        if self.note is not None:
            return f"({self.note})"
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


def running(store: Path) -> list[str]:
    """The ids of the runs that are going on."""
    return [run_id for run_id in run_ids(store) if _is_running(store / run_id)]


def _is_running(path: Path) -> bool:
    try:
        with Folder(path, follow=False) as folder:
            return state_of(folder) in {RunState.RUNNING, RunState.ORPHANED}
    except OSError:
        return False


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


def _sealed_row(run: Folder, run_id: str) -> Row:
    try:
        _, sealed = open_sealed(run)
    except NewerFormatError:
        return Row(run_id, RunState.SEALED, note="made by a newer Steno")
    facts = RunFacts.of(FolderLayers(sealed, run_id))
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


def names_path(word: str) -> bool:
    """Whether it is the path of something that is there."""
    return word != LAST and os.path.lexists(word)


def find(word: str, store: Path) -> Path:
    """Where the run is that a word names: `@last`, its path, the beginning of its id, or its own name.

    Whether it can be read is seen when it is opened.
    """
    if names_path(word):
        return find_run(Path(), word)
    try:
        return find_run(store, word)
    except RunNotFoundError:
        if (named := _named(store, word)) is None:
            raise
        return named


def _named(store: Path, name: str) -> Path | None:
    """The newest run that was given this name."""
    found = (row.run_id for row in rows(store) if name and row.name == name)
    run_id = next(found, None)
    return None if run_id is None else store / run_id


@contextmanager
def open_path(path: Path) -> Iterator[Folder]:
    """The folder of the run; a packed bundle is unpacked for the time it is looked at."""
    if os.path.isfile(path):  # noqa: PTH113 - unlike pathlib's, it does not raise for a name that is too long
        from steno.bundle.pack import unpacked  # late: tarfile is slow to start, and rarely needed

        with unpacked(path) as folder:
            yield folder
        return
    try:
        folder = Folder(path)
    except OSError as error:
        raise UnreadableBundleError(
            f"cannot open {path}: {error.strerror}", hint="name a run's directory"
        ) from error
    with folder:
        yield folder
