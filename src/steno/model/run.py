"""One run, opened for reading: what was recorded and what follows from it, as typed tables."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

from msgspec.structs import replace

from steno.bundle.blobs import open_blobs
from steno.bundle.folder import Folder
from steno.bundle.manifest import Manifest
from steno.bundle.manifest import read as read_manifest
from steno.bundle.store import RunState, state_of, store_path
from steno.bundle.verify import EXIT_CODES, STEPS, Status, Step, Verdict, verify, verify_present
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import canonical, layout
from steno.evidence.claims import PolicyLine, SdkLine
from steno.evidence.kinds import NO_SHIM
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch, batches
from steno.judge import types
from steno.judge.calls import types as call_types
from steno.judge.changed_by_others import SCANS, Destroyed, Others, changed_by_others
from steno.judge.connections import Network
from steno.judge.facts import RunFacts
from steno.judge.health import Health
from steno.judge.judgement import Judgement
from steno.judge.processes import Descent
from steno.judge.renames import Renamed, Things, renamed
from steno.judge.rules import RULES
from steno.judge.scan import Reading
from steno.judge.terminal import Moment, recorded
from steno.judge.types import NO_ERROR, Access, Row
from steno.model import events, evidence_files, runs, table_documents
from steno.model import log as told
from steno.model.contents import Contents, NotKept, kept_contents, not_kept, secret_keys
from steno.model.documents import Documents, Readable
from steno.model.events import Wanted, chosen
from steno.model.record import (
    Record,
    checked,
    completeness_told,
    declared_gaps,
    has_kernel_layer,
    health_told,
    moments,
    open_record,
    readable,
    why_not,
)
from steno.model.runs import find, open_path
from steno.model.tables import Table

if TYPE_CHECKING:
    from steno.model.live.ending import End
    from steno.model.live.following import Following
    from steno.model.live.kernel import Taken
    from steno.model.live.listening import Listening

__all__ = [
    "EXIT_CODES",
    "NO_SHIM",
    "RULES",
    "STEPS",
    "Destroyed",
    "Documents",
    "Manifest",
    "Others",
    "Readable",
    "Run",
    "RunState",
    "Status",
    "Step",
    "Verdict",
    "of_store",
    "open",
    "read_manifest",
]

_Row = TypeVar("_Row", bound=Row)


class Run:
    """Close it when you are done, or use it in a `with`; a packed record is unpacked for as long.

    What it tells is remade from the evidence, by the rules of this Steno. Whether the evidence is what was
    sealed is what `verify` answers.
    """

    def __init__(self, folder: AbstractContextManager[Folder], *, checked: bool = True) -> None:
        """What is wrong with the record is told when it is read, so that it can be verified all the same."""
        self._open = ExitStack()
        self.folder = self._open.enter_context(folder)
        self._checked = checked

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<run {self.info.run_id}: {self.info.state}>"

    def close(self) -> None:
        self._open.close()

    def verify(self, *documents: str) -> Verdict:
        """Whether the evidence is what was sealed, step by step. `documents` will be read if it is."""
        return verify(self.folder, lambda: self._reading(documents))

    def pack(self, out: IO[bytes]) -> None:
        """Write the record as one file, which the commands and `steno.open` read."""
        from steno.bundle.pack import pack  # late: tarfile is slow to start, and rarely needed

        pack(self.folder, out)

    def follow(self) -> AbstractContextManager[Following]:
        """The run as it goes on, look by look."""
        from steno.model.live.following import following  # late: only who watches needs the redactor

        return following(self.folder, self.path.absolute().parent)

    def listen(self) -> Listening:
        """Its terminal as it goes on; raises OSError or ValueError where no run has begun."""
        from steno.model.live.listening import Listening  # late: likewise

        return Listening(self.folder)

    def ending(self, state: RunState) -> End:
        """How it ended; `state` is what was seen of the record then."""
        from steno.model.live.ending import end_of  # late: likewise

        return end_of(self.folder, state)

    def last_happenings(self, most: int) -> Taken:
        """The newest, as somebody who had followed it would have seen them."""
        from steno.model.live.sealed import last_happenings  # late: likewise

        return last_happenings(self.record, most)

    def verify_present(self) -> Verdict:
        """The same of the files that are here alone; the other steps of verification need all of them."""
        return verify_present(self.folder)

    def evidence_files(self) -> Iterator[evidence_files.EvidenceFile]:
        """The files of the record as they lie there, the manifest first."""
        return evidence_files.evidence_files(self.folder)

    def spooled_files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """What a run that is not sealed has in clear, by name."""
        with self.folder.sub(layout.SPOOL) as spool:
            yield from evidence_files.spooled_files(spool)

    @property
    def has_spool(self) -> bool:
        return self.folder.has_folder(layout.SPOOL)

    @property
    def manifest(self) -> Manifest | None:
        """None where there is none, or it cannot be read."""
        return evidence_files.manifest_of(self.folder)

    @property
    def documents_found(self) -> Documents | None:
        """What follows from the evidence as it lies, also where no manifest says which run it is of."""
        with suppress(UnreadableBundleError):
            return self.as_it_lies.documents if self.as_it_lies.is_sealed else None
        return evidence_files.documents_of(self.folder)

    @property
    def command_alone(self) -> list[str] | None:
        """What the command was, of a record that lost something else."""
        return evidence_files.command_alone(self.folder)

    @property
    def path(self) -> Path:
        return self.folder.path

    @cached_property
    def state(self) -> RunState:
        """Of a damaged record too."""
        try:
            return self.record.state
        except UnreadableBundleError:
            with readable(self.folder):
                return state_of(self.folder)

    @property
    def is_sealed(self) -> bool:
        return self.record.state is RunState.SEALED

    @cached_property
    def record(self) -> Record:
        """What the tables are made of; raises `UnreadableBundleError` where it cannot be read."""
        return self._open.enter_context(open_record(self.folder, checked=self._checked))

    @cached_property
    def as_it_lies(self) -> Run:
        """The same, also where it is not as it was sealed: for a view that shows the verdict above all."""
        return self._open.enter_context(Run(nullcontext(self.folder), checked=False))

    @property
    def row(self) -> runs.Row:
        """As in a list of runs; never raises for what it finds."""
        return runs.row_of(self.folder, self.path.name)

    @property
    def run_id(self) -> str:
        return self.record.run_id

    @property
    def root(self) -> str | None:
        return self.record.manifest.root if self.record.manifest else None

    @property
    def facts(self) -> RunFacts:
        """What the events of the recording say of it."""
        return self.record.facts

    @property
    def evidence(self) -> Layers:
        """What was recorded, file by file."""
        return self.record.layers

    @property
    def documents(self) -> Documents:
        """What follows from the evidence, as JSON files: docs/judgement.md."""
        return (self._observed or self.record).documents

    @property
    def judgement(self) -> Judgement:
        """What follows from the evidence; of a run that is not sealed, what there was when first asked."""
        return self.documents.judgement

    def expect(self, *documents: str, undone: bool = False) -> None:
        """These will be read; `undone`: to undo the run. One pass over the system calls does for all."""
        if (reading := self._reading(documents)) is not None and undone:
            reading.expect((*SCANS, Things))

    def _reading(self, expected: Iterable[str] = ()) -> Reading | None:
        """The evidence of a sealed run, with what was read off it; None where it cannot be read."""
        with suppress(UnreadableBundleError):
            if self.is_sealed:
                # What is wrong is told to whoever reads it.
                with suppress(OSError, ValueError):
                    self.judgement.expect(expected)
                return self.judgement.reading
        return None

    def document(self, name: str) -> Any:
        """One of them; of a run that is not sealed, as far as it is known."""
        documents = self.documents if self.is_sealed else self.record.documents
        with checked(documents, name):
            return canonical.decode(documents.read_all(name))

    @cached_property
    def health(self) -> Health:
        return health_told(self.record)

    @property
    def declared_gaps(self) -> list[dict[str, Any]]:
        """The gaps as the recording tells them, with one of a run that is not sealed."""
        return declared_gaps(self.record)

    @property
    def completeness(self) -> dict[str, Any]:
        return completeness_told(self.record)

    @property
    def git_changes(self) -> Any:
        """What git says has changed; in a spool the list is whole once the event that follows it is there."""
        found = (self.is_sealed or self.facts.after) and self.evidence.has(layout.CHANGES)
        return self.record.layers.json(layout.CHANGES) if found else None

    @property
    def streams(self) -> list[str]:
        """The files of the streams whose bytes were recorded."""
        return recorded(self.evidence)

    def moments(self) -> Iterator[Moment]:
        """What arrived when, on which stream. Errors of whoever asks for it stay their own."""
        return moments(self.record)

    @property
    def has_kernel_layer(self) -> bool:
        return has_kernel_layer(self.record)

    def recorded_calls(self, wanted: Wanted) -> Iterator[dict[str, Any]]:
        """The rows of `events` that meet a choice, each column as it was recorded."""
        return chosen(self.kernel, wanted)

    def recorded_batches(self, columns: Sequence[str]) -> Iterator[RowBatch]:
        """Some columns of the same."""
        return batches(self.evidence, columns)

    def policy_lines(self) -> list[PolicyLine]:
        """What policy decided, as the proxies told it."""
        return self._claimed.claims.policy

    def sdk_lines(self) -> list[SdkLine]:
        """What agents told of themselves."""
        return self._claimed.claims.sdk

    @cached_property
    def changed_by_others(self) -> Others:
        """Files that the run changed, and somebody else after it."""
        return changed_by_others(self._reading() or self.evidence)

    def renamed(self, paths: set[bytes]) -> Renamed:
        """Files that were renamed, from and to where no state is kept too; `paths` have a state."""
        return renamed(self._reading() or self.evidence, paths)

    @cached_property
    def descent(self) -> Descent:
        """Who started whom, and what each process is."""
        return Descent(self._processes)

    def execs_by_process(self) -> dict[int, list[types.Exec]]:
        """The rows of `execs`, by the process that became them or tried to."""
        found: dict[int, list[types.Exec]] = {}
        for one in self.execs:
            found.setdefault(one.process, []).append(one)
        return found

    def files_changed(self) -> dict[int, int]:
        """By process: how many of the files that came out changed it had opened to write, or had changed."""
        changed = {file.name for file in self.changes}
        pairs = {
            (one.process, one.name)
            for one in self._accesses()
            if one.name in changed and one.result in NO_ERROR and one.may_change
        }
        return dict(Counter(process for process, _ in pairs))

    @cached_property
    def network(self) -> Network:
        """The addresses of `connections`, with the sockets that were made, and calls without an address."""
        return table_documents.network_of(self._concluded)

    def not_kept(self, files: Iterable[bytes]) -> list[NotKept]:
        """The paths that it changed without a kept state; `files` are those that have one."""
        return not_kept(self.judgement.surface, files)

    def contents(self) -> AbstractContextManager[Contents | None]:
        """What files held, by key; None where nothing is kept."""
        return kept_contents(self.record.run)

    @property
    def has_contents(self) -> bool:
        return self.record.run.has(layout.BLOBS)

    def open_contents(self) -> AbstractContextManager[Contents]:
        """The same where there are some; what is wrong with them is a `ContentsError`."""
        return open_blobs(self.record.run)

    def file(self, path: str | os.PathLike[str]) -> types.File:
        """The row of `files` about a path; a relative one is below the directory where the run began."""
        name = os.fsencode(os.path.normpath(os.path.join(self.facts.start.cwd, path)))  # noqa: PTH118
        for found in self.files:
            if found.name == name:
                return found
        raise BadRequestError(
            f"the run did not touch {os.fspath(path)}", hint="`run.files` has the paths that it touched"
        )

    def content(self, state: types.FileState) -> bytes:
        """What was in a file in this state, `before` or `after` of a row of `files`.

        One that holds a secret can be read with the local key of the user who recorded it.
        """
        if state.blob is None:
            why = state.no_content_reason or "there was none, or nobody looked"
            raise BadRequestError(
                f"the record does not keep this content: {why}", hint="docs/spec.md has the reasons"
            )
        with checked(self.folder, layout.BLOBS), self.open_contents() as kept:
            return kept.read(state.blob, secret_keys(self.path.absolute().parent))

    @property
    def has_calls(self) -> bool:
        return self.is_sealed

    @cached_property
    def info(self) -> types.RunInfo:
        facts, manifest = self.record.facts, self.record.manifest
        return types.RunInfo(
            run_id=facts.run_id,
            name=facts.start.name,
            state=str(self.record.state),
            command=facts.start.cmd_redacted,
            cwd=facts.start.cwd,
            started_at_ms=facts.started_at_ms,
            duration_ns=facts.end_ns,
            command_ns=facts.command_ns,
            exit_code=facts.exit_code,
            signal=facts.signal,
            completed=facts.completed,
            complete=self.record.state is RunState.SEALED and facts.complete,
            observer=facts.start.observer,
            kernel_layer=self.health.kernel_layer,
            machine=facts.start.host.machine,
            steno_version=facts.start.steno_version,
            format=manifest.format if manifest else None,
            rules=RULES,
            root=manifest.root if manifest else None,
        )

    @property
    def tables(self) -> dict[str, Table[Any]]:
        """Those that this run can tell of, by name."""
        self.expect(*table_documents.DOCUMENTS)
        found: list[Table[Any]] = [self.about, self.log, self.output, self.gaps]
        found += [self.calls, self.claims, self.checks, self.effects, self.decisions, self.messages]
        if self.record.state is RunState.SEALED:
            found += [self.surface, self.blobs]
        if self._observed is not None:
            found += [self.processes, self.execs, self.files, self.connections, self.directory_renames]
            found += [self.repositories, self.events, self.unaddressed]
        return {table.name: table for table in sorted(found, key=lambda table: table.name)}

    @property
    def about(self) -> Table[types.RunInfo]:
        """`info` as a table of one row, for whoever puts many runs together."""
        return self._table("about", types.RunInfo, lambda: [self.info])

    @property
    def processes(self) -> Table[types.Process]:
        return self._table("processes", types.Process, lambda: self._processes)

    @property
    def execs(self) -> Table[types.Exec]:
        """Every program that a process became, or tried to."""
        return self._table("execs", types.Exec, lambda: (run for one in self._processes for run in one.execs))

    @property
    def files(self) -> Table[types.File]:
        """Every path that the run touched, in the order of the paths."""
        return self._table("files", types.File, lambda: self._concluded.files.files)

    @property
    def directory_renames(self) -> Table[types.DirectoryRename]:
        return self._table(
            "directory_renames", types.DirectoryRename, lambda: self._concluded.files.directory_renames
        )

    @property
    def changes(self) -> Table[types.File]:
        """The rows of `files` that the run changed."""
        files, of_run = self.files, lambda file: file.is_changed and not file.changed_by_others
        return self._table("changes", types.File, lambda: filter(of_run, files))

    @property
    def accesses(self) -> Table[Access]:
        return self._table("accesses", Access, self._accesses)

    @property
    def connections(self) -> Table[types.Connection]:
        return self._table("connections", types.Connection, lambda: self.network.connections)

    @property
    def unaddressed(self) -> Table[types.Unaddressed]:
        return self._table("unaddressed", types.Unaddressed, lambda: self.network.unaddressed)

    @property
    def repositories(self) -> Table[types.Repository]:
        return self._table("repositories", types.Repository, lambda: self._concluded.files.repositories)

    @property
    def events(self) -> Table[types.Event]:
        """Every call that the kernel saw, in order. There may be millions: read them, or take `batches()`."""
        return self._table("events", types.Event, lambda: events.events(self.kernel))

    @property
    def calls(self) -> Table[call_types.Call]:
        return self._table("calls", call_types.Call, lambda: self.told_calls.calls)

    @property
    def checks(self) -> Table[call_types.Check]:
        return self._table("checks", call_types.Check, lambda: self.told_calls.checks)

    @property
    def claims(self) -> Table[call_types.Claim]:
        return self._table("claims", call_types.Claim, lambda: self.told_calls.claims)

    @property
    def effects(self) -> Table[call_types.Effects]:
        return self._table("effects", call_types.Effects, lambda: self.told_calls.effects)

    @property
    def decisions(self) -> Table[told.Decision]:
        return self._table("decisions", told.Decision, lambda: told.decisions(self.policy_lines()))

    @property
    def messages(self) -> Table[told.Message]:
        return self._table("messages", told.Message, lambda: told.messages(self.sdk_lines()))

    @property
    def blobs(self) -> Table[told.Blob]:
        return self._table("blobs", told.Blob, lambda: told.blobs(self.record))

    @property
    def surface(self) -> Table[told.Capability]:
        return self._table("surface", told.Capability, lambda: told.surface(self.record))

    @property
    def gaps(self) -> Table[told.Gap]:
        return self._table("gaps", told.Gap, lambda: told.gaps(self.record))

    @property
    def log(self) -> Table[told.LogEntry]:
        """The events of the recording itself: how it began and ended, what was configured, what was lost."""
        return self._table("log", told.LogEntry, lambda: told.log(self.record))

    @property
    def output(self) -> Table[told.Output]:
        """The bytes of every recorded stream, with the times when they came."""
        return self._table("output", told.Output, lambda: told.output(self.record))

    @property
    def kernel(self) -> Record:
        """The record with what the kernel saw; of a run that is not sealed, as it was when first asked."""
        if self._observed is None:
            raise why_not(self.record)
        return self._observed

    @cached_property
    def _observed(self) -> Record | None:
        """The record with what the kernel saw; None where that is not told, or not yet."""
        if self.is_sealed:
            return self.record if has_kernel_layer(self.record) else None
        from steno.model.live.unsealed import with_kernel_layer  # late: it needs the redactor

        return with_kernel_layer(self.record, self.path.absolute().parent)

    @cached_property
    def told_calls(self) -> call_types.Calls:
        judgement = self._claimed.documents.judgement
        return replace(judgement.calls, correlation=judgement.correlation)

    @cached_property
    def _claimed(self) -> Record:
        """The record with what programs told; of one that is not sealed, when somebody first asked."""
        if self.is_sealed:
            return self.record
        from steno.model.live.unsealed import with_claims  # late: it needs the redactor

        return with_claims(self.record, self._observed)

    def _table(self, name: str, row: type[_Row], made: Callable[[], Iterable[_Row]]) -> Table[_Row]:
        def told() -> Iterator[_Row]:
            with readable(self.record.run):
                yield from made()

        return Table(name, row, told)

    @property
    def _concluded(self) -> Judgement:
        return self.kernel.documents.judgement

    @cached_property
    def _processes(self) -> list[types.Process]:
        found = self._concluded.processes
        if self.record.state not in {RunState.RUNNING, RunState.ORPHANED}:
            return found
        return [one if one.has_ended else replace(one, still_running=True) for one in found]

    def _accesses(self) -> Iterator[Access]:
        """Of paths."""
        found = self._concluded.accesses()
        return (one for one in found if one.category == "file" and one.name is not None)


def of_store(store: Path, run_id: str) -> Run:
    """A run by its own id, which leads through no link. What is not there is an OSError."""
    return Run(Folder(store / run_id, follow=False))


def open(  # noqa: A001 - as gzip.open
    run: str | os.PathLike[str] = "@last", store: str | os.PathLike[str] | None = None
) -> Run:
    """Open a run: `@last`, its id or the beginning of it, its name, or the path of its folder or packed file.

    `store` is where the runs are; without it that is $STENO_HOME, or the usual place.
    """
    place = store_path(os.environ, None if store is None else os.fspath(store))
    found = Run(open_path(find(os.fspath(run), place)))
    try:
        found.record  # noqa: B018 - what cannot be read is told here
    except BaseException:
        found.close()
        raise
    return found
