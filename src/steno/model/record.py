"""One recording, opened for reading: a sealed bundle, or the spool of a run that is not sealed (yet).

In: a run's folder. Out: a `Record`: its state, its layers and its facts so far. Never verifies (that is
`steno verify`), never writes, never follows a link. What cannot be read is an `UnreadableBundleError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.judged import Files, JudgedFiles
from steno.bundle.manifest import Manifest, completeness_of
from steno.bundle.reader import FolderLayers, as_today, event_lines, open_sealed
from steno.bundle.store import RunState, state_of
from steno.errors import UnreadableBundleError
from steno.evidence import kinds, layout
from steno.evidence.kinds import Event
from steno.evidence.layers import Layers
from steno.evidence.run_id import is_run_id
from steno.judge.claim_layers import Claims, claims_of
from steno.judge.facts import RunFacts
from steno.judge.streams import ERRORS, OUTPUT, RESIZE, Moment, recorded, timeline

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


class Record(NamedTuple):
    run: Folder
    files: Files  # of a sealed run, with what follows from them
    state: RunState
    layers: FolderLayers
    facts: RunFacts
    manifest: Manifest | None

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
    return Record(
        run, JudgedFiles(run, layers, manifest.root), RunState.SEALED, layers, RunFacts.of(layers), manifest
    )


def _spooled(run: Folder, spool: Folder, state: RunState) -> Record:
    first = next(SpoolLayers(spool, "").events(), None)
    if first is None or not is_run_id(first.run_id):
        raise ValueError("nothing is recorded in it yet")
    layers = SpoolLayers(spool, first.run_id)
    return Record(run, run, state, layers, RunFacts.of(layers), None)


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
