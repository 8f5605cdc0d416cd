"""What was done to which names, files, addresses and programs, and from that the capability surface of a run.

What succeeded, or may have, is told apart from what only ever failed. It holds no time, no order and no
number of a process, so equal runs give equal sets. Memory grows with the number of names, not with that of
calls.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from steno.evidence import wire
from steno.evidence.claims import PolicyLine
from steno.evidence.layers import Layers
from steno.evidence.syscalls import LABEL, RowBatch, distinct_rows
from steno.judge import surface_names
from steno.judge.claims import claims_of
from steno.judge.facts import RunFacts
from steno.judge.health import kernel_health
from steno.judge.operations import (
    CHANGED,
    CREATED,
    DELETED,
    ON_CONTENT,
    READ,
    WRITTEN,
    effect,
    has_failed,
    has_failed_to_reach,
)
from steno.judge.scan import Reading
from steno.judge.types import EndpointNames, FileNames, Names, ProgramNames, SocketNames

_KEYS = ("op", "resolved", "result", "notes", "arg", "exists", "mode")
COLUMNS = (*_KEYS, "mono_ns", "process", "path", "extra")
_REACHING = ("connect", "send", "bind")
_NET = frozenset(_REACHING)
_EXECUTING = frozenset({"exec", "interpreter"})
_ANSWERS = frozenset({"answer"})
_OTHER_ROOT, _NAMELESS = wire.NOTES["other_root"], wire.NOTES["deleted"]

CONNECTED, SENT, BOUND = 1, 2, 4
_REACH = dict(zip(_REACHING, (CONNECTED, SENT, BOUND), strict=True))
RAN = 1
_Place = tuple[bytes, bool]  # a path, and whether it is one of another root


class NameTable:
    """For every name what was done to it, and whether it was ever tried."""

    def __init__(self) -> None:
        self.done: dict[Any, int] = {}

    def take(self, name: Any, bits: int, *, failed: bool) -> None:
        self.done[name] = self.done.get(name, 0) | (0 if failed else bits)

    def add(self, other: NameTable) -> None:
        for name, bits in other.done.items():
            self.take(name, bits, failed=False)

    def renamed(self, rename: Any) -> NameTable:
        """The same under other names; some names become one, some none."""
        found = NameTable()
        for name, bits in self.done.items():
            told = rename(name)
            if told is not None:
                found.take(told, bits, failed=False)
        return found

    def names(self, bits: int) -> list[str]:
        return sorted(name for name, done in self.done.items() if done & bits)

    def attempted(self) -> list[str]:
        return sorted(name for name, done in self.done.items() if not done)


class NamesSeen:
    """What the table says, in the words of the table."""

    def __init__(self) -> None:
        self.files = NameTable()
        self.requested = NameTable()  # by the path that was asked for, where that is another one
        self.surely_changed: set[bytes] = set()  # paths of both kinds: the call is known to have succeeded
        self.endpoints = NameTable()
        self.execs = NameTable()
        self.answers: set[tuple[bytes, bytes]] = set()

    def take_labelled(
        self, path: bytes, asked: bytes | None, bits: int, result: int | None, *, failed: bool
    ) -> None:
        """What only those want who judge calls."""
        if asked and asked != path:
            self.requested.take(asked, bits, failed=failed)
        if bits & CHANGED and result == 0:
            self.surely_changed |= {path, asked or path}

    def add(self, other: NamesSeen) -> None:
        for mine, others in (
            (self.files, other.files),
            (self.requested, other.requested),
            (self.endpoints, other.endpoints),
            (self.execs, other.execs),
        ):
            mine.add(others)
        self.surely_changed |= other.surely_changed
        self.answers |= other.answers


class EffectCollector:
    """Takes batch after batch. Rows of different labels are kept apart; without labels all have label 0."""

    columns: ClassVar[tuple[str, ...]] = COLUMNS

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def __init__(self, *, labelled: bool = False) -> None:
        self.by_label: defaultdict[int, NamesSeen] = defaultdict(NamesSeen)
        self._labelled = labelled
        self._exec_failed: dict[int, bool] = {}  # of the last one of each process

    def take(self, batch: RowBatch) -> None:
        if self._labelled:
            self._take_files(batch, (LABEL, *_KEYS, "path"))
        elif not self._take_files(batch, _KEYS):
            self._take_files(batch, (*_KEYS, "path"))
        self._take_net(batch)
        self._take_execs(batch)

    def _take_files(self, batch: RowBatch, keys: tuple[str, ...]) -> bool:
        """False, and nothing taken, when there are calls that only `path` tells apart."""
        rows = distinct_rows(batch, keys).rows
        ops, resolved = batch.ops(rows), batch.texts("resolved", rows)
        requested = resolved
        if "path" in keys:
            requested = batch.texts("path", rows)
        elif None in resolved and any(
            path is None and op in ON_CONTENT for op, path in zip(ops, resolved, strict=True)
        ):
            return False
        calls = zip(
            ops,
            resolved,
            requested,
            self._labels(batch, rows),
            batch.numbers("arg", rows),
            batch.numbers("notes", rows),
            batch.optional("result", rows),
            batch.optional("exists", rows),
            batch.modes(rows),
            strict=True,
        )
        for op, place, asked, label, arg, notes, result, exists, mode in calls:
            path = place or _absolute(asked)
            if op not in ON_CONTENT or not path or notes & _NAMELESS:
                continue
            bits, failed = effect(op, arg, notes, result, exists, mode)
            if bits:
                seen, other_root = self.by_label[label], bool(notes & _OTHER_ROOT)
                seen.files.take((path, other_root), bits, failed=failed)
                if self._labelled:
                    seen.take_labelled(path, asked, bits, result, failed=failed)
        return True

    def _take_net(self, batch: RowBatch) -> None:
        if rows := batch.rows_of(_NET):
            columns = (
                batch.ops(rows),
                batch.texts("path", rows),
                batch.texts("resolved", rows),
                batch.numbers("notes", rows),
                batch.optional("result", rows),
                self._labels(batch, rows),
            )
            for op, address, resolved, notes, result, label in set(zip(*columns, strict=True)):
                if address:
                    key = address, resolved, bool(notes & _OTHER_ROOT)
                    failed = has_failed_to_reach(op, result)
                    self.by_label[label].endpoints.take(key, _REACH[op], failed=failed)
        if rows := batch.rows_of(_ANSWERS):
            names, addresses = batch.texts("path", rows), batch.texts("extra", rows)
            for name, address, label in set(zip(names, addresses, self._labels(batch, rows), strict=True)):
                if name and address:
                    self.by_label[label].answers.add((name, address))

    def _take_execs(self, batch: RowBatch) -> None:
        """In order: an interpreter ran only if the script before it did."""
        if not (rows := batch.rows_of(_EXECUTING)):
            return
        names = (
            resolved or path
            for resolved, path in zip(batch.texts("resolved", rows), batch.texts("path", rows), strict=True)
        )
        columns = (
            batch.ops(rows),
            names,
            batch.numbers("process", rows),
            batch.numbers("notes", rows),
            batch.optional("result", rows),
            self._labels(batch, rows),
        )
        for op, name, process, notes, result, label in zip(*columns, strict=True):
            failed = has_failed(result)
            if op == "exec":
                self._exec_failed[process] = failed
            elif self._exec_failed.get(process):
                continue
            if name:
                key = name, bool(notes & _OTHER_ROOT)
                self.by_label[label].execs.take(key, RAN, failed=failed)

    def _labels(self, batch: RowBatch, rows: list[int]) -> list[int]:
        return batch.numbers(LABEL, rows) if self._labelled else [0] * len(rows)


class Named(NamedTuple):
    """The same under the names of a capability surface."""

    files: NameTable
    execs: NameTable
    peers: NameTable
    unix: NameTable
    internet: NameTable

    @staticmethod
    def of(seen: NamesSeen, run_id: str) -> Named:
        def path_name(place: _Place) -> str:
            path, other_root = place
            return surface_names.path_name(path, run_id, other_root=other_root)

        def endpoint(key: tuple[bytes, bytes | None, bool]) -> surface_names.Endpoint | None:
            address, resolved, other_root = key
            return surface_names.endpoint(address, resolved, run_id, other_root=other_root)

        found = seen.endpoints.renamed(endpoint)
        return Named(
            files=seen.files.renamed(path_name),
            execs=seen.execs.renamed(path_name),
            peers=found.renamed(lambda one: None if one.is_unix else one.name),
            unix=found.renamed(lambda one: one.name if one.is_unix else None),
            internet=found.renamed(lambda one: one.name if one.is_internet else None),
        )

    @property
    def names(self) -> Names:
        files, peers, unix = self.files, self.peers, self.unix
        return Names(
            FileNames(
                read=files.names(READ),
                written=files.names(WRITTEN),
                created=files.names(CREATED),
                deleted=files.names(DELETED),
                attempted=files.attempted(),
            ),
            EndpointNames(
                connected=peers.names(CONNECTED),
                sent=peers.names(SENT),
                bound=peers.names(BOUND),
                attempted=peers.attempted(),
            ),
            SocketNames(
                connected=unix.names(CONNECTED | SENT), bound=unix.names(BOUND), attempted=unix.attempted()
            ),
            ProgramNames(ran=self.execs.names(RAN), attempted=self.execs.attempted()),
        )


def _absolute(path: bytes | None) -> bytes | None:
    """A requested path says where it leads only if it begins at the root."""
    return path if path and path.startswith(b"/") else None


SCHEMA = "steno.capability-surface.v1"
OWN_SCHEMA = "steno.surface.v1"
_TMP = "/tmp"  # noqa: S108 - what programs take when TMPDIR is not set


class OwnSurface(msgspec.Struct, frozen=True):
    schema: str
    files: FileNames
    endpoints: EndpointNames
    unix_sockets: SocketNames
    execs: ProgramNames
    names: dict[str, list[str]]  # DNS names that were seen to stand for an address
    roots: Roots
    kernel_layer: str


class Roots(msgspec.Struct, frozen=True):
    """The directories that a projection may replace."""

    cwd: str | None = None
    home: str | None = None
    tmp: str | None = None


class Surface(msgspec.Struct, frozen=True):
    """What a run could do and did, as sorted sets of names."""

    schema: str
    run_id: str
    filesystem_prefixes: list[str]
    filesystem_paths: list[str]
    network_endpoints: list[str]
    process_execs: list[str]
    mcp_tools: list[str]
    policy_decisions: list[str]
    steno: OwnSurface


def surface(layers: Layers) -> Surface:
    reading = Reading.of(layers)
    facts, seen = reading.once(RunFacts.of), reading.scanned(EffectCollector).by_label[0]
    decided = reading.once(claims_of).policy
    named = Named.of(seen, facts.run_id)
    internet, names = named.internet, named.names
    paths = named.files.names(READ | WRITTEN | DELETED)
    return Surface(
        schema=SCHEMA,
        run_id=facts.run_id,
        filesystem_prefixes=sorted(set(map(surface_names.directory_of, paths))),
        filesystem_paths=paths,
        network_endpoints=internet.names(CONNECTED | SENT),
        process_execs=named.execs.names(RAN),
        mcp_tools=sorted({_tool(line) for line in decided if _is_let_through(line)}),
        policy_decisions=sorted({f"{line.decision}:{_tool(line)}" for line in decided}),
        steno=OwnSurface(
            schema=OWN_SCHEMA,
            files=names.files,
            endpoints=names.endpoints,
            unix_sockets=names.unix_sockets,
            execs=names.execs,
            names=_names(seen.answers, set(map(surface_names.host_of, internet.done))),
            roots=_roots(facts),
            kernel_layer=kernel_health(facts).layer,
        ),
    )


def _tool(line: PolicyLine) -> str:
    return f"{line.steno.server}.{line.tool}"


def _is_let_through(line: PolicyLine) -> bool:
    """In a dry run nothing is held back, whatever was decided."""
    return line.decision == "allow" or line.steno.dry_run


def _names(answers: set[tuple[bytes, bytes]], hosts: set[str]) -> dict[str, list[str]]:
    """The names that were seen to stand for the addresses of this run, and for no others."""
    found: dict[str, set[str]] = {}
    for name, address in answers:
        host = surface_names.host_name(surface_names.text(address))
        if host in hosts:
            found.setdefault(host, set()).add(surface_names.domain_name(name))
    return {host: sorted(names) for host, names in found.items()}


def _roots(facts: RunFacts) -> Roots:
    environment = facts.start.env
    return Roots(cwd=facts.start.cwd, home=environment.get("HOME"), tmp=environment.get("TMPDIR") or _TMP)
