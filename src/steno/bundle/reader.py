"""Reading a recording: the layers of a sealed bundle, or of a spool.

In: a folder. Out: `Layers` for derivations, and the small files as data. Reads only; follows no link;
every file is bounded by what the caller is ready to hold.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Protocol

from steno.bundle.folder import Folder
from steno.evidence import canonical, index, kinds, layout
from steno.evidence.index import Arrival
from steno.evidence.kinds import Event

MAX_LINE = 64 << 20
MAX_SMALL_FILE = 256 << 20
MAX_KEPT_EVENTS = 1 << 20


class _Readable(Protocol):
    def read(self, path: str, start: int = 0) -> Iterator[bytes]: ...


class FolderLayers:
    """The layers in a folder: a spool or a bundle, they use the same names."""

    def __init__(self, folder: Folder, run_id: str) -> None:
        self._folder = folder
        self._run_id = run_id
        self._parsed: list[Event] | None = None

    @property
    def run_id(self) -> str:
        return self._run_id

    @property
    def folder(self) -> Folder:
        return self._folder

    def events(self) -> Iterator[Event]:
        """The events; those of an ordinary run are parsed once, however often they are asked for."""
        if self._parsed is not None:
            return iter(self._parsed)
        parsed = (kinds.parse_line(line) for line in event_lines(self._folder))
        if self._folder.size(layout.EVENTS) > MAX_KEPT_EVENTS:
            return parsed
        self._parsed = list(parsed)
        return iter(self._parsed)

    def has(self, path: str) -> bool:
        return self._folder.has(path)

    def size(self, path: str) -> int:
        return 0 if self._is_empty(path) else self._folder.size(path)

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        return iter(()) if self._is_empty(path) else self._folder.read(path, start)

    def arrivals(self, tape: str) -> Iterator[Arrival]:
        """When the bytes of a stream came."""
        if self._folder.has(layout.INDEX):
            return _of_stream(layout.TAPES.index(tape), self._folder.read(layout.INDEX))
        path = layout.index_of(tape)
        return index.unpack(self._folder.read(path)) if self._folder.has(path) else iter(())

    def _is_empty(self, path: str) -> bool:
        """A seal leaves out the files in which there is nothing."""
        return path in layout.EMPTY_IS_ABSENT and not self._folder.has(path)

    def open(self, path: str) -> BinaryIO:
        return os.fdopen(self._folder.open(path), "rb")

    def json(self, path: str) -> Any:
        return canonical.decode(self._folder.read_all(path, MAX_SMALL_FILE))


def _of_stream(number: int, blocks: Iterator[bytes]) -> Iterator[Arrival]:
    return (Arrival(one.mono_ns, one.length) for one in index.unpack_joined(blocks) if one.stream == number)


def digest_of(blocks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def event_lines(folder: Folder) -> Iterator[bytes]:
    """The lines of `events.ndjson` with their newlines; the last one may be torn."""
    return lines_of(folder, layout.EVENTS, MAX_LINE, kinds.BadEventError)


def lines_of(folder: _Readable, path: str, longest: int, too_long: type[ValueError]) -> Iterator[bytes]:
    """The lines of a file with their newlines; the last one may have none."""
    begun: list[bytes] = []  # of a line whose end has not come; joined once, however long it is
    size = 0
    for block in folder.read(path):
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield b"".join((*begun, line, b"\n"))
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > longest:
            raise too_long(f"{path}: a line is longer than {longest} bytes")
    if size:
        yield b"".join(begun)
