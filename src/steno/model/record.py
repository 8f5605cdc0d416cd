"""One recording, opened for reading: a sealed bundle, or the spool of a run that is not sealed (yet).

Nothing here verifies, writes, or follows a link. What cannot be read is an `UnreadableBundleError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.judgement_cache import JudgementCache
from steno.bundle.lock import KERNEL
from steno.bundle.manifest import Manifest, completeness_of
from steno.bundle.reader import MAX_SMALL_FILE, FolderLayers, as_today, event_lines, open_sealed
from steno.bundle.store import RunState, state_of
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import kinds, layout
from steno.evidence.kinds import Event
from steno.evidence.layers import Layers
from steno.evidence.run_id import is_run_id
from steno.judge.claims import Claims, claims_of
from steno.judge.facts import RunFacts
from steno.judge.health import ABSENT, Health
from steno.judge.judgement import Judgement, Kept, types_kept
from steno.judge.scan import Reading
from steno.judge.terminal import ERRORS, OUTPUT, RESIZE, Moment, recorded, timeline
from steno.judge.types import Access
from steno.model.documents import Documents, Readable

__all__ = [
    "ERRORS",
    "OUTPUT",
    "RESIZE",
    "Moment",
    "Record",
    "SpoolLayers",
    "moments",
    "open_record",
    "readable",
]

_Part = TypeVar("_Part")


class Record(NamedTuple):
    run: Folder
    state: RunState
    layers: FolderLayers
    facts: RunFacts
    manifest: Manifest | None
    documents: Documents

    @property
    def run_id(self) -> str:
        return self.facts.run_id

    @property
    def evidence(self) -> Layers:
        return self.layers

    @property
    def streams(self) -> list[str]:
        """The streams of which the bytes were recorded."""
        return recorded(self.layers)

    @property
    def claims(self) -> Claims:
        """What policy decided and what was said, put together of what was told."""
        return claims_of(self.layers)

    @property
    def completeness(self) -> dict[str, Any]:
        found = completeness_of(self.facts)
        return {"complete": found.complete, "completed": found.completed, "gaps": list(found.gaps)}


@contextmanager
def open_record(run: Folder, *, checked: bool = True) -> Iterator[Record]:
    """The record in a run folder, for as long as it is looked at.

    `checked` false: also what is not as it was sealed is given, for whoever says beside it that it is not.
    """
    with readable(run):
        state = state_of(run)
    if state is RunState.SEALED:
        with readable(run):
            record = _sealed(run, checked=checked)
        yield record
    elif state is RunState.DAMAGED:
        raise UnreadableBundleError(
            f"{run.path} is not a recording: it has neither a manifest nor a spool",
            hint="`steno list` shows the runs; a run whose manifest is lost cannot be trusted any more",
        )
    else:
        with readable(run):
            spool = run.sub(layout.SPOOL)
        with spool:
            with readable(run):
                record = _spooled(run, spool, state)
            yield record


def moments(record: Record) -> Iterator[Moment]:
    """What arrived when, on which stream. Errors of whoever asks for it stay their own."""
    with readable(record.run):
        yield from timeline(record.layers)


def _sealed(run: Folder, *, checked: bool) -> Record:
    manifest, run = open_sealed(run) if checked else (manifests.read(run), as_today(run))
    layers = FolderLayers(run, manifest.run_id)
    documents = documents_over(run, layers, manifest.root)
    return Record(run, RunState.SEALED, layers, RunFacts.of(layers), manifest, documents)


def _spooled(run: Folder, spool: Folder, state: RunState) -> Record:
    first = next(SpoolLayers(spool, "").events(), None)
    if first is None or not is_run_id(first.run_id):
        raise ValueError("nothing is recorded in it yet")
    layers = SpoolLayers(spool, first.run_id)
    documents = Documents(CheckedJudgement(layers, run.path), run.path)
    return Record(run, state, layers, RunFacts.of(layers), None, documents)


def documents_over(run: Folder, layers: FolderLayers, root: str) -> Documents:
    """What follows from the evidence in a folder; of a large one of this user it is kept."""
    return Documents(CheckedJudgement(layers, run.path, JudgementCache.of(run, root, types_kept())), run.path)


class CheckedJudgement(Judgement):
    """What is wrong with the evidence is told as an error of the record."""

    def __init__(self, layers: Layers, path: Path, kept: Kept | None = None) -> None:
        super().__init__(layers, kept)
        self._path = path

    def accesses(self) -> Iterator[Access]:
        with _told_of(self._path, layout.KERNEL_LINES):
            yield from super().accesses()

    def _part(self, name: str, kind: type[_Part], make: Callable[[Reading], _Part]) -> _Part:
        with _told_of(self._path, name):
            return super()._part(name, kind, make)


class SpoolLayers(FolderLayers):
    """The layers of a spool: its last event may be torn, and is then not looked at."""

    def events(self) -> Iterator[Event]:
        for line in event_lines(self._folder):
            try:
                event = kinds.parse_line(line)
            except kinds.BadEventError:
                return
            yield event


@contextmanager
def readable(run: Folder) -> Iterator[None]:
    """What goes wrong while a record is read is told as an error of the record."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableBundleError(
            f"the record in {run.path} cannot be read: {why}", hint=f"`steno verify {run.path}` says more"
        ) from error


@contextmanager
def checked(run: Folder | Readable, path: str) -> Iterator[None]:
    """What is wrong with one file of a record is told as an error of the record."""
    with _told_of(run.path, path):
        yield


@contextmanager
def _told_of(run: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, LookupError, msgspec.MsgspecError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableBundleError(
            f"{run / name} cannot be read: {why}", hint=f"`steno verify {run}` says more"
        ) from error


def read_json(run: Readable, path: str, kind: type[_Part]) -> _Part:
    """A whole document, as a kind of data; what is there beyond that is passed over."""
    with checked(run, path):
        limit = min(run.size(path), MAX_SMALL_FILE)  # as much is set aside before it is read
        return msgspec.json.decode(run.read_all(path, limit), type=kind)


def has_kernel_layer(record: Record) -> bool:
    return record.state is RunState.SEALED and record.run.has(layout.KERNEL_TABLE)


def how_to_seal(state: RunState, run_id: str) -> str:
    """For a run without a recorder: the observer of the kernel may outlive it, with the command."""
    after = "when its command has ended, " if state is RunState.ORPHANED else ""
    return f"{after}`steno recover {run_id}` seals what was recorded"


def not_yet(record: Record, what: str) -> BadRequestError | None:
    """Why something is not told of a run: it is not sealed. None: it is."""
    if record.state is RunState.RUNNING:
        return BadRequestError(
            f"this run is still going on: {what} told when it has ended",
            hint=f"`steno show {record.run_id}` tells the facts so far",
        )
    if record.state is not RunState.SEALED:
        return BadRequestError(
            f"this run is not sealed: {what} told when it is",
            hint=how_to_seal(record.state, record.run_id),
        )
    return None


def why_not(record: Record) -> BadRequestError:
    """Why nothing is told of what the kernel saw."""
    start = record.facts.start
    why = start.unobserved or f"it was recorded with observer {start.observer!r}"
    return not_yet(record, "what the kernel saw is") or BadRequestError(
        f"this run has no kernel layer: {why}",
        hint="`steno doctor` says whether this machine can observe the kernel; then record the run again",
    )


UNSEALED = "unsealed"
SO_FAR = "so far"
NOT_TOLD_YET = "not told yet"
_WHY = {
    RunState.RUNNING: "it is still being recorded, and nothing is sealed yet",
    RunState.ORPHANED: "its recorder is gone, its command goes on, and nothing is sealed yet",
    RunState.UNSEALED: "its recorder is gone, and nothing is sealed yet",
}

Data = dict[str, Any]


def declared_gaps(record: Record) -> list[Data]:
    found: list[Data] = [msgspec.to_builtins(gap) for gap in record.facts.gaps]
    if record.state in _WHY:
        found.insert(0, {"reason": UNSEALED, "detail": _WHY[record.state]})
    return found


def completeness_told(record: Record) -> Data:
    found = record.completeness
    if record.state not in _WHY:
        return found
    return {**found, "complete": False, "gaps": sorted({*found["gaps"], UNSEALED})}


def health_told(record: Record) -> Health:
    found = record.documents.judgement.health
    if record.state not in _WHY:
        return found
    own = replace(found.steno, gaps=sorted({*found.steno.gaps, UNSEALED}))
    if own.kernel_layer == ABSENT and is_watched(record.run):
        own = replace(own, kernel_layer=SO_FAR, observer=NOT_TOLD_YET)
        notes = [note for note in found.notes if not note.startswith(f"kernel_layer_{ABSENT}")]
        found = replace(found, kernel_layer=SO_FAR, notes=notes)
    return replace(found, steno=own)


def is_watched(run: Folder) -> bool:
    """Whether the spool has frames of the kernel's observer."""
    place = f"{layout.SPOOL}/{KERNEL}"
    if not run.has_folder(place):
        return False
    with run.sub(place) as frames:
        return any(frames.has(name) and frames.size(name) for name in frames.names())
