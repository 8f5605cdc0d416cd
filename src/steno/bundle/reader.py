"""Reading a recording: the layers of a sealed bundle or of a spool, by the names and shapes of today.

Reads only; follows no link; every file is bounded by what the caller is ready to hold. A sealed folder gives
nothing that is not as it was sealed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Protocol

from steno.bundle import manifest as manifests
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.manifest import Manifest
from steno.evidence import canonical, compat, index, kinds, layout
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
    return lines_in(folder.read(path), longest, too_long(f"{path}: a line is longer than {longest} bytes"))


def lines_in(
    blocks: Iterable[bytes], longest: int = sys.maxsize, too_long: ValueError | None = None
) -> Iterator[bytes]:
    begun: list[bytes] = []  # of a line whose end has not come; joined once, however long it is
    size = 0
    for block in blocks:
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield b"".join((*begun, line, b"\n"))
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > longest and too_long is not None:
            raise too_long
    if size:
        yield b"".join(begun)


class NotAsSealedError(ValueError):
    """A file of a bundle is missing, or its bytes are not those that were sealed."""


class SealedFolder(Folder):
    """Lives as long as the folder that it was made of, which closes it.

    A file is looked at as a whole when it is first opened, and again when it is another since. What the
    manifest does not name is not there.
    """

    def __init__(self, run: Folder, manifest: Manifest) -> None:
        self.path = run.path
        self._fd = run.fd
        self._files = manifest.files
        self._seen: dict[str, tuple[int, ...]] = {}

    def close(self) -> None:
        pass

    def has(self, path: str) -> bool:
        return path in self._files or (path == layout.MANIFEST and super().has(path))

    def size(self, path: str) -> int:
        return self._files[path].bytes if path in self._files else super().size(path)

    def open(self, path: str, *, write: bool = False) -> int:
        if path not in self._files:
            return super().open(path, write=write)
        try:
            fd = super().open(path, write=write)
        except FileNotFoundError:
            raise NotAsSealedError(f"{path} is missing") from None
        try:
            found = os.fstat(fd)
            identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            if self._seen.get(path) != identity:
                self._look_at(path, fd)
                self._seen[path] = identity
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _look_at(self, path: str, fd: int) -> None:
        expected, digest = self._files[path], hashlib.sha256()
        if os.fstat(fd).st_size == expected.bytes:  # first, so that a huge file is never read
            while block := os.read(fd, BLOCK):
                digest.update(block)
        if digest.hexdigest() != expected.sha256:
            raise NotAsSealedError(f"{path} is not as it was sealed")
        os.lseek(fd, 0, os.SEEK_SET)


def open_sealed(run: Folder) -> tuple[Manifest, Folder]:
    """The manifest of a sealed bundle, and its evidence by today's names.

    Raises ValueError or OSError where there is no manifest that can be read, or its root is not its own.
    """
    data = run.read_all(layout.MANIFEST, manifests.MAX_BYTES)
    manifest = manifests.parse(data)
    if not manifests.root_matches(data):
        raise NotAsSealedError("the root does not match the manifest")
    sealed = SealedFolder(run, manifest)
    return manifest, FirstFormat(sealed, manifest.run_id) if manifest.format == compat.FIRST else sealed


def as_today(run: Folder) -> Folder:
    """The run's folder, whichever format it was sealed in, to be read by the names of `layout`."""
    if isinstance(run, FirstFormat) or run.has_folder(layout.SPOOL):
        return run
    try:
        manifest = manifests.read(run)
    except (OSError, ValueError):
        return run
    return FirstFormat(run, manifest.run_id) if manifest.format == compat.FIRST else run


class FirstFormat(Folder):
    """Lives as long as the folder that it was made of, which closes it."""

    def __init__(self, run: Folder, run_id: str) -> None:
        self.path = run.path
        self._fd = run.fd
        self._run = run
        self._run_id = run_id

    def close(self) -> None:
        pass

    def has(self, path: str) -> bool:
        name = self._name(path)
        if path == layout.OUTPUT and not self._has_index(path):
            return False  # one that was made of stdout and stderr
        return name is not None and self._run.has(name)

    def size(self, path: str) -> int:
        return self._run.size(self._known(path)) - len(self._header(path))

    def open(self, path: str, *, write: bool = False) -> int:
        fd = self._run.open(self._known(path), write=write)
        os.lseek(fd, len(self._header(path)), os.SEEK_SET)
        return fd

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        if path == layout.EVENTS:
            return self._events(start)
        return super().read(path, start + len(self._header(path)))

    def _events(self, start: int) -> Iterator[bytes]:
        blocks = super().read(layout.EVENTS, start)
        first, rest = b"", b""
        for block in blocks:
            first, newline, rest = (rest + block).partition(b"\n")
            if newline:
                break
            rest = first
        else:
            yield rest
            return
        recorded = [layout.shown(tape).rpartition("/")[2] for tape in layout.TAPES if self._has_index(tape)]
        yield (first + b"\n" if start else compat.first_line_of_first(first + b"\n", recorded)) + rest
        yield from blocks

    def _has_index(self, tape: str) -> bool:
        return self.has(layout.index_of(tape))

    def _header(self, path: str) -> bytes:
        return compat.header_in_first(path, self._run_id)

    def _name(self, path: str) -> str | None:
        return compat.name_in_first(path) if path.startswith(f"{layout.EVIDENCE}/") else path

    def _known(self, path: str) -> str:
        name = self._name(path)
        if name is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return name
