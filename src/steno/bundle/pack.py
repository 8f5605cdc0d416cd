"""Packing: a sealed bundle as one `.tar.gz`, the same bytes every time.

In: a bundle's folder and a place to write. Out: a plain ustar archive, manifest first and the rest sorted,
owner, group and times zero, mode 0644, gzip without time or name. Unpacking trusts nothing: regular files
with the names and sizes of the manifest, into a private directory, or an error.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.tape import write_all
from steno.errors import UnreadableBundleError
from steno.events import layout

_GZIP_OS_BYTE = 9
_UNKNOWN_OS = 255


def pack(run: Folder, out: IO[bytes]) -> None:
    manifest = manifests.parse(run.read_all(layout.MANIFEST, manifests.MAX_BYTES))
    with gzip.GzipFile(filename="", mode="wb", fileobj=_OsByte(out), compresslevel=6, mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as archive:
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
            except (OSError, tarfile.TarError, EOFError, ValueError) as error:
                raise UnreadableBundleError(
                    f"{path} is not a packed bundle: {error}", hint="`steno pack RUN` makes one"
                ) from None
            yield folder


def _unpack(path: Path, folder: Folder) -> None:
    with path.open("rb") as file, tarfile.open(fileobj=file, mode="r|gz") as archive:
        first = archive.next()
        if first is None or first.name != layout.MANIFEST or not first.isreg():
            raise ValueError("its first member is not manifest.json")
        if first.size > manifests.MAX_BYTES:
            raise ValueError("its manifest.json is too large")
        data = _member(archive, first).read(first.size)
        sizes = {name: digest.bytes for name, digest in manifests.parse(data).files.items()}
        _keep(folder, layout.MANIFEST, BytesIO(data))
        for member in archive:
            if not member.isreg() or sizes.pop(member.name, None) != member.size:
                raise ValueError(f"{member.name!r} is not as its manifest says")
            _keep(folder, member.name, _member(archive, member))


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    if content is None:
        raise ValueError(f"{member.name!r} has no content")
    return content


def _keep(folder: Folder, name: str, content: IO[bytes]) -> None:
    fd = folder.create(name)
    try:
        while block := content.read(1 << 20):
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
