"""What follows from the evidence of one run, each part of it made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol, TypeVar

import msgspec

from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge import accesses as accesses_
from steno.judge import files, health, processes, surface, types
from steno.judge.calls import types as calls_types
from steno.judge.calls.correlation import correlation
from steno.judge.calls.join import scans as scans_of_calls
from steno.judge.calls.types import Calls, Correlation
from steno.judge.calls.verdicts import calls
from steno.judge.facts import RunFacts
from steno.judge.health import Health
from steno.judge.scan import Reading, Scan
from steno.judge.surface import EffectCollector, Surface
from steno.judge.types import Access, Files, Process

_Part = TypeVar("_Part")
_NOT_THERE = (2, "No such file or directory")  # ENOENT, in the words of no locale
_FRAME = 1 << 13  # accesses that are kept in one piece
# What is read of the table for one of these alone.
_SCANS: dict[str, type[Scan]] = {
    layout.KERNEL_LINES: accesses_.Lines,
    layout.PROCESSES: processes.Told,
    layout.FILES: files.Touched,
    layout.SURFACE: EffectCollector,
}
_OF_TABLE = frozenset({layout.KERNEL_LINES, layout.PROCESSES, layout.FILES})
_encode = msgspec.msgpack.Encoder().encode


class Kept(Protocol):
    """Where parts are kept from one reading to the next. A part that was harmed there is as if it was not."""

    def has(self, name: str) -> bool: ...

    def read(self, name: str) -> Iterator[bytes] | None: ...

    def keep(self, name: str, frames: Iterable[bytes]) -> Iterator[bytes]:
        """The same frames as they pass; they are kept when the last one has."""
        ...


class Judgement:
    """The parts have the names of the documents that tell them."""

    def __init__(self, layers: Layers, kept: Kept | None = None) -> None:
        self.reading = Reading.of(layers)
        self._kept = kept
        self._made: dict[str, Any] = {}

    @property
    def facts(self) -> RunFacts:
        return self.reading.once(RunFacts.of)

    def has(self, name: str) -> bool:
        return name not in _OF_TABLE or self.reading.has(layout.KERNEL_TABLE)

    def expect(self, names: Iterable[str]) -> Reading:
        """These will be asked for: one pass of the table does for all."""
        wanted = [name for name in names if self.has(name) and name not in self._made]
        self.reading.expect(
            scans_for(self.reading, [one for one in wanted if not (self._kept and self._kept.has(one))])
        )
        return self.reading

    @property
    def processes(self) -> list[Process]:
        return self._part(layout.PROCESSES, list[Process], lambda reading: reading.once(processes.processes))

    @property
    def files(self) -> Files:
        return self._part(layout.FILES, Files, _files)

    @property
    def surface(self) -> Surface:
        return self._part(layout.SURFACE, Surface, surface.surface)

    @property
    def health(self) -> Health:
        return self._part(layout.HEALTH, Health, health.health)

    @property
    def correlation(self) -> Correlation:
        return self._part(layout.CORRELATION, Correlation, correlation)

    @property
    def calls(self) -> Calls:
        return self._part(layout.CALLS, Calls, calls)

    def accesses(self) -> Iterator[Access]:
        """There may be very many: they are told one by one."""
        name = layout.KERNEL_LINES
        if not self.has(name):
            return
        decode = msgspec.msgpack.Decoder(list[Access]).decode
        frames = None if self._kept is None else self._kept.read(name)
        if frames is not None:
            for frame in frames:
                yield from decode(frame)
        elif self._kept is None:
            yield from accesses_.accesses(self.reading)
        else:
            for frame in self._kept.keep(name, _framed(accesses_.accesses(self.reading))):
                yield from decode(frame)
            self.reading.forget(_SCANS[name])

    def _part(self, name: str, kind: type[_Part], make: Callable[[Reading], _Part]) -> _Part:
        if name not in self._made:
            if not self.has(name):
                raise FileNotFoundError(*_NOT_THERE, name)
            self._made[name] = self._read_or_made(name, kind, make)
            if name in _SCANS:
                self.reading.forget(_SCANS[name])
        found: _Part = self._made[name]
        return found

    def _read_or_made(self, name: str, kind: type[_Part], make: Callable[[Reading], _Part]) -> _Part:
        if self._kept is None:
            return make(self.reading)
        if (frames := self._kept.read(name)) is not None:
            return msgspec.msgpack.decode(b"".join(frames), type=kind)
        found = make(self.reading)
        for _ in self._kept.keep(name, [_encode(found)]):
            pass
        return found


def _files(reading: Reading) -> Files:
    if not reading.has(layout.FILE_LINES):
        # Without them no file would be changed, which nothing tells.
        raise FileNotFoundError(*_NOT_THERE, layout.FILE_LINES)
    return files.files(reading)


def types_kept() -> list[list[str]]:
    """What the types of the parts are made of: what was kept of others is of no use."""
    modules = (types, calls_types, surface, health)
    kinds = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    return [[kind.__name__, *kind.__struct_fields__] for kind in kinds if issubclass(kind, msgspec.Struct)]


def scans_for(layers: Layers, names: Collection[str]) -> Iterator[type[Scan]]:
    """What is read off the table of system calls for these, as far as one pass can."""
    reading = Reading.of(layers)
    yield from (_SCANS[name] for name in names if name in _SCANS)
    if layout.HEALTH in names:
        yield from health.scans(reading)
    if not {layout.CALLS, layout.CORRELATION}.isdisjoint(names):
        yield from scans_of_calls(reading)


def _framed(found: Iterator[Access]) -> Iterator[bytes]:
    while some := list(islice(found, _FRAME)):
        yield _encode(some)
