"""Packing: a sealed bundle as one `.tar.gz`, the same bytes every time.

In: a bundle's folder and a place to write. Out: a plain ustar archive, manifest first and the rest sorted,
owner, group and times zero, mode 0644, gzip without time or name. Unpacking trusts nothing: plain files with
the names and sizes of the manifest, no more than there is room for, into a private directory, or an error.
Headers are read one block at a time, because tarfile would read an extended header of any size into memory.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from steno.bundle import manifest as manifests
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.tape import write_all
from steno.errors import UnreadableBundleError
from steno.events import layout

_GZIP_OS_BYTE = 9
_UNKNOWN_OS = 255


def pack(run: Folder, out: IO[bytes]) -> None:
    manifest = manifests.parse(run.read_all(layout.MANIFEST, manifests.MAX_BYTES))
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=_OsByte(out), compresslevel=6, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path in (layout.MANIFEST, *sorted(manifest.files)):
            with os.fdopen(run.open(path), "rb") as file:
                member = tarfile.TarInfo(path)
                member.size = os.fstat(file.fileno()).st_size
                member.mode = 0o644
                archive.addfile(member, file)


@contextmanager
def unpacked(path: Path) -> Iterator[Folder]:
    """The packed bundle in a private temporary directory, for as long as it is looked at."""
    with TemporaryDirectory(prefix="steno-unpacked-") as scratch:
        folder = Folder(Path(scratch))
        with folder:
            try:
                _unpack(path, folder)
            except (OSError, tarfile.TarError, zlib.error, EOFError, ValueError) as error:
                raise UnreadableBundleError(
                    f"{path} is not a packed bundle: {error}", hint="`steno pack RUN` makes one"
                ) from None
            yield folder


def _unpack(path: Path, folder: Folder) -> None:
    with path.open("rb") as file, gzip.GzipFile(fileobj=file) as archive:
        first = _next_member(archive)
        if first is None or first.name != layout.MANIFEST:
            raise ValueError("its first member is not manifest.json")
        if first.size > manifests.MAX_BYTES:
            raise ValueError("its manifest.json is too large")
        data = b"".join(_content(archive, first.size))
        _keep(folder, layout.MANIFEST, [data])
        sizes = {name: digest.bytes for name, digest in manifests.parse(data).files.items()}
        if sum(sizes.values()) > shutil.disk_usage(folder.path).free:
            raise ValueError(f"it unpacks to {sum(sizes.values())} bytes, and there is no room for them")
        while member := _next_member(archive):
            if sizes.pop(member.name, None) != member.size:
                raise ValueError(f"{member.name!r} is not as its manifest says")
            _keep(folder, member.name, _content(archive, member.size))


def _next_member(archive: gzip.GzipFile) -> tarfile.TarInfo | None:
    header = archive.read(tarfile.BLOCKSIZE)
    if header == bytes(tarfile.BLOCKSIZE):
        return None
    member = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
    if member.type != tarfile.REGTYPE or member.size < 0:
        raise ValueError(f"{member.name!r} is not a plain file")
    return member


def _content(archive: gzip.GzipFile, size: int) -> Iterator[bytes]:
    left = size
    while left:
        block = archive.read(min(left, BLOCK))
        if not block:
            raise EOFError("it ends within a file")
        left -= len(block)
        yield block
    archive.read(-size % tarfile.BLOCKSIZE)


def _keep(folder: Folder, name: str, blocks: Iterable[bytes]) -> None:
    fd = folder.create(name)
    try:
        for block in blocks:
            write_all(fd, block)
    finally:
        os.close(fd)


class _OsByte:
    """Python's gzip writes the byte of the operating system it runs on; ours is always "unknown"."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._at = 0

    def write(self, data: bytes) -> int:
        here = _GZIP_OS_BYTE - self._at
        if 0 <= here < len(data):
            data = data[:here] + bytes([_UNKNOWN_OS]) + data[here + 1 :]
        self._at += len(data)
        self._out.write(data)
        return len(data)

    def flush(self) -> None:
        self._out.flush()
