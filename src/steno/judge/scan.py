"""The table of system calls, read once for all that is asked of it.

Whoever is about to ask for several says so before (`expect`): the first one that is asked for is read
together with all of those. What was read is remembered for as long as the `Reading` lives, so it is of layers
that do not change. Where a pass comes to nothing, because the table cannot be read or is no table of ours,
each scan gets a pass of its own: what one of them cannot make of the table takes nothing away from the
others. Memory is what the scans keep, and one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, ClassVar, Protocol, Self, TypeVar

from steno.evidence import layout, wire
from steno.evidence.index import Arrival
from steno.evidence.kinds import Event
from steno.evidence.layers import Layers
from steno.evidence.syscalls import EVERY, RowBatch, batches
from steno.judge.own_processes import Own, own_processes

_Made = TypeVar("_Made")
_Found = TypeVar("_Found", bound="Scan")


class Scan(Protocol):
    """What is read off the table of system calls, batch by batch.

    Rows of Steno's own hooks are left out, but for one that says `whole = True`.
    """

    columns: ClassVar[tuple[str, ...]]

    @classmethod
    def begin(cls, layers: Layers, /) -> Self:
        """One that has taken nothing yet. What it needs of other scans is read before it is made."""
        ...

    def take(self, batch: RowBatch) -> None: ...


class Reading:
    """Layers, and what was read off them."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._expected: dict[type[Scan], None] = {}
        self._found: dict[type[Scan], Any] = {}
        self._made: dict[Callable[[Layers], Any], Any] = {}

    @staticmethod
    def of(layers: Layers) -> Reading:
        return layers if isinstance(layers, Reading) else Reading(layers)

    @property
    def run_id(self) -> str:
        return self._layers.run_id

    def events(self) -> Iterator[Event]:
        return self._layers.events()

    def has(self, path: str) -> bool:
        return self._layers.has(path)

    def size(self, path: str) -> int:
        return self._layers.size(path)

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        return self._layers.read(path, start)

    def arrivals(self, tape: str) -> Iterator[Arrival]:
        return self._layers.arrivals(tape)

    def open(self, path: str) -> BinaryIO:
        return self._layers.open(path)

    def once(self, make: Callable[[Layers], _Made]) -> _Made:
        """What follows from the layers, made when it is first asked for."""
        if make not in self._made:
            self._made[make] = make(self)
        found: _Made = self._made[make]
        return found

    @property
    def own(self) -> Own:
        """The processes of Steno's own hooks."""
        return self.once(own_processes)

    def expect(self, kinds: Iterable[type[Scan]]) -> None:
        """These will be asked for, and may be read with the first one that is."""
        self._expected |= dict.fromkeys(kinds)

    def forget(self, kind: type[Scan]) -> None:
        """What was concluded from it is kept elsewhere."""
        self._found.pop(kind, None)

    def scanned(self, kind: type[_Found]) -> _Found:
        if kind not in self._found:
            self._read_with_expected(kind.begin(self))
        found: _Found = self._found[kind]
        return found

    def _read_with_expected(self, wanted: Scan) -> None:
        others = [one for one in self._expected if one not in {type(wanted), *self._found}]
        self._expected = {}
        if not self._layers.has(layout.KERNEL_TABLE):
            self._found[type(wanted)] = wanted
            return
        scans = [wanted, *(one.begin(self) for one in others)]
        try:
            self._read(scans)
        except (ArithmeticError, LookupError, OSError, ValueError):
            if not others:
                raise
            scans = [type(wanted).begin(self)]
            self._read(scans)
        self._found |= {type(scan): scan for scan in scans}

    def _read(self, scans: list[Scan]) -> None:
        own = self.own.processes
        columns = dict.fromkeys(
            [*(name for scan in scans for name in scan.columns), *(["process"] if own else ())]
        )
        for batch in batches(self._layers, list(columns)):
            of_the_run = batch.without(own) if own else batch
            for scan in scans:
                scan.take(batch if getattr(scan, "whole", False) else of_the_run)


_KNOWN = frozenset(op.name for op in wire.OPS.values())


class Held:
    columns: ClassVar[tuple[str, ...]] = EVERY
    whole: ClassVar[bool] = True

    def __init__(self) -> None:
        self.rows = 0
        self.blobs: set[str] = set()  # the keys of contents that rows name
        self._operations: set[str] = set()

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    @property
    def unknown_operations(self) -> list[str]:
        """Those that only a newer Steno knows."""
        return sorted(self._operations - _KNOWN)

    def take(self, batch: RowBatch) -> None:
        self.rows += batch.count
        self.blobs.update(key for key in batch.blobs(batch.rows_with("blob")) if key is not None)
        self._operations.update(batch.ops())


def held(layers: Layers) -> Held:
    return Reading.of(layers).scanned(Held)
