"""The register: what Steno itself keeps of every attempt, where no agent works.

`metadata/attempts/<run_id>/<N>.json` is there for every number that was ever taken. The agent works in the
run directory and may write there what it likes; whatever is decided later is decided by the register.
Whoever runs an attempt holds the lock of its folder, which ends with its processes; an agent may outlive
its recorder, and is found by the processes of its recording. Never removes anything, never gives a number
twice.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct, field

from steno.bundle.folder import Folder
from steno.bundle.lock import is_live
from steno.bundle.reader import event_lines
from steno.contracts.agent_audit.completion import Completion
from steno.contracts.agent_audit.meta import Known, Meta
from steno.errors import StoreError
from steno.evidence import canonical, kinds, layout
from steno.evidence.intake_names import RUN_ID
from steno.export.atomic import place_in
from steno.launch.file_lock import is_held
from steno.text.safe import utf8

METADATA = "metadata"
ATTEMPTS = "attempts"
MOST_BYTES = 32 << 20
_FILE = re.compile(r"(?P<number>[1-9][0-9]{0,17})\.json", re.ASCII)


class Entry(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    schema_version: Literal[1] = 1
    reserved_at: str
    known: Known
    store: str | None = None  # where the attempt is recorded, and
    record: str | None = None  # under which id; null: it was not come to that
    meta: Meta | None = None  # null: nobody has told yet how it ended
    files: Mapping[str, str] = field(default_factory=dict)  # in `.audit`, with the digests of what we wrote
    unwritten: tuple[str, ...] = ()  # files that belong there, and could not be written


class AttemptState(StrEnum):
    FINISHED = "finished"
    RUNNING = "running"
    CRASHED = "crashed"  # nobody runs it, and nobody has told how it ended
    DAMAGED = "damaged"  # what the register has of it cannot be read


class AttemptRecord(NamedTuple):
    number: int
    state: AttemptState
    entry: Entry | None
    problem: str | None = None
    outlived: bool = False  # it runs, and its recorder is gone

    @property
    def meta(self) -> Meta | None:
        return self.entry.meta if self.entry else None


@contextmanager
def open_register(root: Path, run_id: str, *, make: bool = False) -> Iterator[Folder]:
    """Of one run. `FileNotFoundError` when no attempt was ever made in it."""
    below = f"{METADATA}/{ATTEMPTS}/{run_id}"
    with Folder(Path(os.path.realpath(root))) as base:
        if make:
            base.make_folders(below)
        register = base.sub(below)
    with register:
        yield register


def reserve(register: Folder, known: Known, now: datetime, taken: Container[int]) -> Entry:
    """The next number that nobody had, here or among those that are `taken`; `known` has another one yet."""
    number = max(numbers(register), default=0) + 1
    while True:
        if number not in taken:
            entry = Entry(
                reserved_at=f"{now:%Y-%m-%dT%H:%M:%S.%fZ}",
                known=msgspec.structs.replace(known, attempt=number),
            )
            with suppress(FileExistsError):
                _write(register, entry, replace=False)
                return entry
        number += 1


def keep(register: Folder, entry: Entry) -> None:
    """Takes the place of what was known of the attempt, in one step."""
    try:
        _write(register, entry, replace=True)
    except OSError as error:
        raise StoreError(
            f"cannot write {register.path / _name(entry)}: {error.strerror}",
            hint="make room, or check its permissions",
        ) from error


def numbers(register: Folder) -> list[int]:
    found = (_FILE.fullmatch(name) for name in register.names())
    return sorted(int(name["number"]) for name in found if name)


def read_entry(register: Folder, number: int) -> Entry:
    """`ValueError` or `OSError` for what is not the entry of this attempt."""
    entry = msgspec.json.decode(register.read_all(f"{number}.json", MOST_BYTES), type=Entry)
    run_id = register.path.name
    if (entry.known.run_id, entry.known.attempt) != (run_id, number):
        raise ValueError(f"it is that of attempt {entry.known.attempt} of {entry.known.run_id}")
    meta = entry.meta
    if meta is not None:
        if (meta.run_id, meta.attempt.number) != (run_id, number):
            raise ValueError(f"its meta is that of attempt {meta.attempt.number} of {meta.run_id}")
        if meta.protocol.completion is not None:
            msgspec.convert(meta.protocol.completion, Completion)
    return entry


def is_recorded_still(entry: Entry) -> bool:
    """When Steno is killed its agent may go on; then the observer has the recording until it ends."""
    if entry.meta is not None or entry.store is None or entry.record is None:
        return False
    try:
        with Folder(Path(entry.store, entry.record)) as recording:
            return is_live(recording)
    except OSError:
        return False


def attempts(root: Path, run_id: str) -> list[AttemptRecord]:
    """Every attempt of a run that was ever begun, in order."""
    try:
        with open_register(root, run_id) as register:
            known = numbers(register)
            running = is_held(register)
            return [_record(register, number, running=running and number == known[-1]) for number in known]
    except FileNotFoundError:
        return []


def registered_runs(root: Path) -> list[str]:
    """The ids of all runs of which something was kept."""
    try:
        with Folder(Path(os.path.realpath(root))) as base, base.sub(f"{METADATA}/{ATTEMPTS}") as runs:
            return [name for name in runs.names() if runs.has_folder(name)]
    except FileNotFoundError:
        return []


def _record(register: Folder, number: int, *, running: bool) -> AttemptRecord:
    try:
        entry = read_entry(register, number)
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        problem = f"{register.path}/{number}.json cannot be read: {why}"
        return AttemptRecord(number, AttemptState.DAMAGED, None, problem)
    if entry.meta is not None:
        return AttemptRecord(number, AttemptState.FINISHED, entry)
    if running:
        return AttemptRecord(number, AttemptState.RUNNING, entry)
    if is_recorded_still(entry):
        return AttemptRecord(number, AttemptState.RUNNING, entry, outlived=True)
    return AttemptRecord(number, AttemptState.CRASHED, entry)


def _write(register: Folder, entry: Entry, *, replace: bool) -> None:
    content = canonical.encode(utf8(msgspec.to_builtins(entry)))
    place_in(register, _name(entry), [content], replace=replace)


def _name(entry: Entry) -> str:
    return f"{entry.known.attempt}.json"


_MOST_LETTERS = 120


class AgentProcess(NamedTuple):
    pid: int
    command: str

    @property
    def told(self) -> str:
        return f"Steno was killed and its agent goes on: end it with `kill {self.pid}` ({self.command})"


def agent_process(entry: Entry) -> AgentProcess | None:
    if entry.store is None or entry.record is None:
        return None
    try:
        with Folder(Path(entry.store, entry.record, layout.SPOOL)) as spool:
            pid = _told_pid(spool)
        if pid is None:
            return None
        process = Path("/proc", str(pid))
        if f"{RUN_ID}={entry.record}".encode() not in (process / "environ").read_bytes().split(b"\0"):
            return None
        words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except (OSError, ValueError):
        return None
    command = shlex.join(word.decode(errors="replace") for word in words)
    return AgentProcess(pid, command if len(command) <= _MOST_LETTERS else f"{command[:_MOST_LETTERS]}…")


def _told_pid(spool: Folder) -> int | None:
    for line in event_lines(spool):
        data = kinds.parse_line(line).data
        if isinstance(data, kinds.CommandStarted):
            return data.pid
    return None
