"""Attempts whose recorder was killed: they get what they would have left.

In: a run, and the descriptions of agents. Out: for each attempt that nobody finished its recording, sealed,
its audit files, its meta and its place in the indexes. How the files of the run were at its end is not known
any more, so there is no snapshot of it. A meta file that is gone is written again, and so are streams that
could not be written when the attempt ended. Never touches an attempt that runs, nor a file that is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from steno.agents.catalog import Catalogue
from steno.agents.definition import AgentDefinition
from steno.bundle.folder import Folder
from steno.contracts.agent_audit.completion import Rules, rules_of
from steno.contracts.agent_audit.meta import Meta, agent_steps, audit_files, ended
from steno.contracts.agent_audit.streams import AUDIT, file_name
from steno.launch import registry
from steno.launch.attempt import judged
from steno.launch.file_lock import take
from steno.launch.finish import (
    STREAMS,
    collect_errors,
    describe_attempt,
    keep_meta,
    session_told,
    write_streams,
)
from steno.launch.registry import AttemptRecord, AttemptState, Entry, open_register
from steno.launch.run_dirs import PreparedRun, RunName, directory_problem, find_run, open_runs
from steno.launch.strace_chain import STRACE, RecordedStreams
from steno.model.record import Record, open_record
from steno.record.recover import recover_run


def finish_crashed(root: Path, selector: str, catalogue: Catalogue) -> list[str]:
    """Returns what the user should be told."""
    notes: list[str] = []
    with open_runs(root) as runs:
        name = find_run(runs, selector)
        with collect_errors(notes):
            unfinished = _unfinished(root, name, runs.path / name.run_id)
            # Without its directory nothing is finished; whoever asks for the run tells of that.
            if unfinished and directory_problem(runs.path / name.run_id) is None:
                with runs.sub(name.run_id) as run:
                    _Finishing(root, run, name, catalogue.known.get(name.agent), notes).finish(unfinished)
    return notes


def can_be_finished(root: Path, selector: str) -> bool:
    """Whether `finish_crashed` would write something. Only reads."""
    with open_runs(root) as runs:
        name = find_run(runs, selector)
        path = runs.path / name.run_id
        return directory_problem(path) is None and bool(_unfinished(root, name, path))


def _unfinished(root: Path, name: RunName, run: Path) -> list[int]:
    return [
        record.number
        for record in registry.attempts(root, name.run_id)
        if record.entry is not None and _lacks_something(record, record.entry, run)
    ]


def _lacks_something(record: AttemptRecord, entry: Entry, run: Path) -> bool:
    if record.state is AttemptState.CRASHED:
        return _has_recording(entry)
    if record.state is not AttemptState.FINISHED:
        return False
    meta_file = run / AUDIT / file_name("meta", record.number)
    return not os.path.lexists(meta_file) or bool(_parts_to_write(entry))


def _has_recording(entry: Entry) -> bool:
    """Its recorder was killed, or could not write all; before that it had begun to record."""
    return entry.store is not None and entry.record is not None and Path(entry.store, entry.record).is_dir()


def _parts_to_write(entry: Entry) -> list[str]:
    """The streams that were not written and are in the recording; it does not have those of strace."""
    if not _has_recording(entry) or (entry.meta and entry.meta.runtime.trace_source == STRACE):
        return []
    return [part for part in STREAMS if file_name(part, entry.known.attempt) in entry.unwritten]


class _Finishing:
    """The attempts of one run."""

    def __init__(
        self, root: Path, run: Folder, name: RunName, description: AgentDefinition | None, notes: list[str]
    ) -> None:
        self._root = root
        self._run = run
        self._name = name
        self._session_field = description.stream.session_field if description else None
        self._notes = notes

    def finish(self, numbers: list[int]) -> None:
        with open_register(self._root, self._name.run_id) as kept:
            # Whoever has the lock is running an attempt here, or is doing this.
            for number in numbers if take(kept.fd, seconds=0) else ():
                with collect_errors(self._notes):
                    prepared = PreparedRun(self._name, self._run, kept, registry.read_entry(kept, number))
                    with collect_errors(self._notes):
                        keep_meta(self._root, prepared, self._meta(prepared))
                    self._notes += prepared.audit.notes

    def _meta(self, prepared: PreparedRun) -> Meta:
        meta = prepared.entry.meta
        parts = _parts_to_write(prepared.entry)
        if meta is None or (parts and meta.steno.run_id is None):
            return self._meta_from_recording(prepared)
        if not parts:
            return meta
        with _recovered(prepared.entry) as recorded:
            write_streams(prepared, recorded, RecordedStreams(), self._notes, parts)
        return msgspec.structs.replace(meta, audit_files=audit_files(prepared.attempt, prepared.audit.parts))

    def _meta_from_recording(self, prepared: PreparedRun) -> Meta:
        prepared.audit.expect(STREAMS)
        with _recovered(prepared.entry) as recorded:
            write_streams(prepared, recorded, RecordedStreams(), self._notes)
            how = ended(recorded, tuple(recorded.completeness["gaps"]))
            rules = rules_of(prepared.entry.known.rules)
            known = msgspec.structs.replace(
                prepared.entry.known,
                steps=agent_steps(recorded).told,
                completion=_completion(recorded, rules),
                session=session_told(recorded, RecordedStreams(), rules.parser, self._session_field),
            )
        return describe_attempt(prepared, known, how)


@contextmanager
def _recovered(entry: Entry) -> Iterator[Record]:
    path = Path(entry.store or "", entry.record or "")
    recover_run(path)
    with Folder(path) as folder, open_record(folder) as recorded:
        yield recorded


def _completion(recorded: Record, rules: Rules) -> dict[str, Any] | None:
    found = judged(recorded.layers, RecordedStreams(), rules)
    return None if found is None else msgspec.to_builtins(found)
