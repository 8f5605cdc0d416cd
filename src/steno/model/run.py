"""One run, opened for reading: what was recorded and what follows from it, as typed tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from types import TracebackType
from typing import Any, Self, TypeVar

from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.bundle.store import RunState, store_path
from steno.bundle.verify import STEPS, Status, Step, Verdict, verify
from steno.evidence import canonical, kinds, layout
from steno.judge.rules import RULES
from steno.judge.streams import recorded, tape_moments
from steno.model import kernel_rows, rows, so_far
from steno.model.calls import Calls, read_calls
from steno.model.connections import network
from steno.model.file_rows import file_row
from steno.model.finding import find, open_path
from steno.model.kernel_layer import KernelLayer, checked, has_kernel_layer
from steno.model.record import Record, open_record, readable
from steno.model.tables import Table

__all__ = ["RULES", "STEPS", "Run", "RunState", "Status", "Step", "Verdict", "open"]

_Row = TypeVar("_Row", bound=rows.Row)
_SURFACE = (
    "filesystem_prefixes",
    "filesystem_paths",
    "network_endpoints",
    "process_execs",
    "mcp_tools",
    "policy_decisions",
)


class Run:
    """Close it when you are done, or use it in a `with`; a packed record is unpacked for as long.

    What it tells is remade from the evidence, by the rules of this Steno. Whether the evidence is what was
    sealed is what `verify` answers.
    """

    def __init__(self, folder: AbstractContextManager[Folder]) -> None:
        self._open = ExitStack()
        try:
            self._folder = self._open.enter_context(folder)
            self._record: Record = self._open.enter_context(open_record(self._folder))
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<run {self.info.run_id}: {self.info.state}>"

    def close(self) -> None:
        self._open.close()

    def verify(self) -> Verdict:
        """Whether the evidence is what was sealed, step by step."""
        return verify(self._folder)

    @cached_property
    def info(self) -> rows.RunInfo:
        facts, manifest = self._record.facts, self._record.manifest
        with readable(self._record.run):
            health = so_far.health(self._record)
        return rows.RunInfo(
            run_id=facts.run_id,
            name=facts.start.name,
            state=str(self._record.state),
            command=facts.start.cmd_redacted,
            cwd=facts.start.cwd,
            started_at_ms=facts.started_at_ms,
            duration_ns=facts.end_ns,
            command_ns=facts.command_ns,
            exit_code=facts.exit_code,
            signal=facts.signal,
            completed=facts.completed,
            complete=self._record.state is RunState.SEALED and facts.complete,
            observer=facts.start.observer,
            kernel_layer=health["kernel_layer"],
            machine=facts.start.host.machine,
            steno_version=facts.start.steno_version,
            format=manifest.format if manifest else None,
            rules=RULES,
            root=manifest.root if manifest else None,
        )

    @property
    def tables(self) -> dict[str, Table[Any]]:
        """Those that this run can tell of, by name."""
        found: list[Table[Any]] = [self.about, self.log, self.output, self.gaps]
        if self._record.state is RunState.SEALED:
            found += [self.surface, self.calls, self.checks]
        if has_kernel_layer(self._record):
            found += [self.processes, self.execs, self.files, self.connections]
            found += [self.repositories, self.events]
        return {table.name: table for table in sorted(found, key=lambda table: table.name)}

    @property
    def about(self) -> Table[rows.RunInfo]:
        """`info` as a table of one row, for whoever puts many runs together."""
        return self._table("about", rows.RunInfo, lambda: [self.info])

    @property
    def processes(self) -> Table[rows.Process]:
        return self._table("processes", rows.Process, lambda: kernel_rows.processes(self._kernel))

    @property
    def execs(self) -> Table[rows.Exec]:
        """Every program that a process became, or tried to."""
        return self._table("execs", rows.Exec, lambda: kernel_rows.execs(self._kernel))

    @property
    def files(self) -> Table[rows.File]:
        """Every path that the run touched, in the order of the paths."""
        return self._table("files", rows.File, lambda: (file_row(seen.file) for seen in self._kernel.files()))

    @property
    def connections(self) -> Table[rows.Connection]:
        return self._table("connections", rows.Connection, lambda: network(self._kernel).table_rows())

    @property
    def repositories(self) -> Table[rows.Repository]:
        return self._table(
            "repositories",
            rows.Repository,
            lambda: (rows.Repository(one.root, one.head, one.dirty) for one in self._kernel.repositories()),
        )

    @property
    def events(self) -> Table[rows.Event]:
        """Every call that the kernel saw, in order. There may be millions: read them, or take `batches()`."""
        return self._table("events", rows.Event, lambda: kernel_rows.events(self._kernel))

    @property
    def calls(self) -> Table[rows.Call]:
        return self._table("calls", rows.Call, self._call_rows)

    @property
    def checks(self) -> Table[rows.Check]:
        return self._table("checks", rows.Check, self._check_rows)

    @property
    def surface(self) -> Table[rows.Capability]:
        return self._table("surface", rows.Capability, self._surface)

    @property
    def gaps(self) -> Table[rows.Gap]:
        return self._table("gaps", rows.Gap, self._gaps)

    @property
    def log(self) -> Table[rows.LogEntry]:
        """The events of the recording itself: how it began and ended, what was configured, what was lost."""
        return self._table("log", rows.LogEntry, self._log)

    @property
    def output(self) -> Table[rows.Output]:
        """The bytes of every recorded stream, with the times when they came."""
        return self._table("output", rows.Output, self._output)

    @cached_property
    def _kernel(self) -> KernelLayer:
        return KernelLayer(self._record)

    @cached_property
    def _calls(self) -> Calls:
        return read_calls(self._record)

    def _table(self, name: str, row: type[_Row], made: Callable[[], Iterable[_Row]]) -> Table[_Row]:
        def told() -> Iterator[_Row]:
            with readable(self._record.run):
                yield from made()

        return Table(name, row, told)

    def _call_rows(self) -> Iterator[rows.Call]:
        return self._calls.table_rows()

    def _check_rows(self) -> Iterator[rows.Check]:
        return self._calls.check_rows()

    def _surface(self) -> Iterator[rows.Capability]:
        files = self._record.files
        with checked(files, layout.SURFACE):
            told = canonical.decode(b"".join(files.read(layout.SURFACE)))
            for category in _SURFACE:
                yield from (rows.Capability(category, entry) for entry in told[category])

    def _gaps(self) -> Iterator[rows.Gap]:
        for gap in so_far.gaps(self._record):
            yield rows.Gap(gap["reason"], gap["detail"], gap.get("lost_bytes"))

    def _log(self) -> Iterator[rows.LogEntry]:
        for event in self._record.layers.events():
            raw = kinds.to_json(event)
            data = canonical.encode(raw["data"]).decode()
            yield rows.LogEntry(event.seq, event.mono_ns, event.ts_ms, event.type, data)

    def _output(self) -> Iterator[rows.Output]:
        layers = self._record.layers
        for tape in recorded(layers):
            yield from _pieces(layers, tape)


def _pieces(layers: FolderLayers, tape: str) -> Iterator[rows.Output]:
    name, position = tape.rpartition("/")[2], 0
    for moment in tape_moments(layers, tape):
        yield rows.Output(name, position, moment.mono_ns, moment.data)
        position += len(moment.data)


def open(  # noqa: A001 - as gzip.open
    run: str | os.PathLike[str] = "@last", store: str | os.PathLike[str] | None = None
) -> Run:
    """Open a run: `@last`, its id or the beginning of it, its name, or the path of its folder or packed file.

    `store` is where the runs are; without it that is $STENO_HOME, or the usual place.
    """
    place = store_path(os.environ, None if store is None else os.fspath(store))
    return Run(open_path(find(os.fspath(run), place)))
