"""A packed bundle: its files as one `.tar.gz`, the same bytes every time, and the way back.

It is a plain ustar archive, the manifest first; owner, group and times zero, mode 0644, gzip without time or
name. Unpacking trusts nothing: every byte around the files is the one that writing gives, the files have the
names and sizes that the manifest tells, no more than there is room for, or an error. tarfile would read an
extended header of any size into memory, and gzip would read on behind the end; so neither reads here. What a
manifest says is its owner's affair.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

from steno.bundle import manifest as manifests
from steno.bundle.folder import BLOCK, Folder, write_all
from steno.errors import UnreadableBundleError
from steno.evidence import layout
from steno.evidence.run_id import is_run_id

# Whatever is wrong with the bytes of an archive is one of these.
TAR_ERRORS = (OSError, tarfile.TarError, zlib.error, EOFError, ValueError)
Sizes = Callable[
    [bytes], Mapping[str, int]
]  # from the bytes of a manifest: the other files, how long each is

MAX_FILES = 10_000
MAX_UNPACKED = 1 << 30  # bytes; more only where they were not squeezed harder than records are
MAX_RATIO = 200

_GZIP_OS_BYTE = 9
_UNKNOWN_OS = 255
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib's way to say: with the header and the sums of gzip
_FEW_BYTES = 8  # what differs in more bytes was not damaged but made by another zlib


def write_tar(folder: Folder, paths: Iterable[str], out: IO[bytes]) -> None:
    """The manifest and then these files, sorted by name."""
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=_OsByte(out), compresslevel=6, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path in (layout.MANIFEST, *sorted(paths)):
            with os.fdopen(folder.open(path), "rb") as file:
                archive.addfile(_member(path, os.fstat(file.fileno()).st_size), file)


def manifest_in_tar(path: Path, limit: int) -> bytes:
    """The manifest of an archive, without a look at what follows it."""
    with path.open("rb") as file:
        return _manifest_bytes(_Unzipped(file), limit)


def unpack_tar(path: Path, folder: Folder, sizes_of: Sizes, limit: int) -> None:
    """Put the files into an empty folder; a manifest longer than `limit` is refused."""
    with path.open("rb") as file:
        archive = _Unzipped(file)
        data = _manifest_bytes(archive, limit)
        keep_file(folder, layout.MANIFEST, [data])
        sizes = sizes_of(data)
        if sum(sizes.values()) > shutil.disk_usage(folder.path).free:
            raise ValueError(f"it unpacks to {sum(sizes.values())} bytes, and there is no room for them")
        _refuse_what_only_fills_the_disk(sizes, os.fstat(file.fileno()).st_size)
        for name in sorted(sizes):
            if archive.read(tarfile.BLOCKSIZE) != _header(name, sizes[name]):
                raise ValueError(f"the next member is not {name!r}, a plain file, as the manifest says")
            keep_file(folder, name, _content(archive, sizes[name]))
        archive.expect_zeros(2 * tarfile.BLOCKSIZE)
        archive.expect_zeros(-archive.at % tarfile.RECORDSIZE)
        archive.expect_end()
        file.seek(0)
        if _is_damaged_copy(file, folder, sizes):
            raise ValueError("some of its bytes were changed")


def _refuse_what_only_fills_the_disk(sizes: Mapping[str, int], packed: int) -> None:
    whole = sum(sizes.values())
    if len(sizes) > MAX_FILES:
        raise ValueError(f"it holds {len(sizes)} files, more than {MAX_FILES}")
    if whole > MAX_UNPACKED and whole > MAX_RATIO * packed:
        raise ValueError(
            f"it unpacks to {whole} bytes, {whole // packed} times its size; `tar -xzf` would do it"
        )


def keep_file(folder: Folder, name: str, blocks: Iterable[bytes]) -> None:
    fd = folder.create(name)
    try:
        for block in blocks:
            write_all(fd, block)
    finally:
        os.close(fd)


def _manifest_bytes(archive: _Unzipped, limit: int) -> bytes:
    header = archive.read(tarfile.BLOCKSIZE)
    first = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
    if first.name != layout.MANIFEST:
        raise ValueError("its first member is not manifest.json")
    if first.size > limit:
        raise ValueError("its manifest.json is too large")
    if first.size < 0 or header != _header(layout.MANIFEST, first.size):
        raise ValueError("its manifest.json is not a plain file as we write it")
    return b"".join(_content(archive, first.size))


def _header(name: str, size: int) -> bytes:
    return _member(name, size).tobuf(tarfile.USTAR_FORMAT)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    return member


def _content(archive: _Unzipped, size: int) -> Iterator[bytes]:
    left = size
    while left:
        block = archive.read(min(left, BLOCK))
        left -= len(block)
        yield block
    archive.expect_zeros(-size % tarfile.BLOCKSIZE)


class _Unzipped:
    """The bytes of one gzip member with our header. The last of them are there when its sum was checked."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._zip = zlib.decompressobj(wbits=_GZIP_WINDOW)
        self._waiting = file.read(len(_GZIP_HEADER))
        self.at = 0
        if self._waiting != _GZIP_HEADER:
            raise ValueError("it does not begin as we write it")

    def read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        found = b"".join(self._blocks(size))
        if len(found) < size:
            raise EOFError("it ends too early")
        return found

    def expect_zeros(self, size: int) -> None:
        if self.read(size) != bytes(size):
            raise ValueError("there is something where nothing should be")

    def expect_end(self) -> None:
        if any(self._blocks(1)) or self._zip.unused_data or self._file.read(1):
            raise ValueError("something follows its end")

    def _blocks(self, size: int) -> Iterator[bytes]:
        while size and not self._zip.eof:
            data = self._waiting or self._file.read(BLOCK)
            block = self._zip.decompress(data, size)
            self._waiting = self._zip.unconsumed_tail
            if not (data or block or self._zip.eof):
                raise EOFError("it ends too early")
            size -= len(block)
            self.at += len(block)
            yield block


def _is_damaged_copy(file: IO[bytes], folder: Folder, paths: Iterable[str]) -> bool:
    """Whether the bytes are those we would write but for a few.

    A changed bit can give the same content (another distance in a run of zeros, the unused bits of the last
    byte), and no sum can see it. Another zlib gives the same content in wholly other bytes: no damage.
    """
    compared = _Compared(file)
    try:
        write_tar(folder, paths, cast("IO[bytes]", compared))
    except _OtherBytesError:
        return False
    return compared.differing > 0


class _OtherBytesError(Exception):
    """The packed bytes were made by another zlib."""


class _Compared:
    """Takes what is packed and counts in how many bytes a file differs from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.differing = 0

    def write(self, data: bytes) -> int:
        there = self._file.read(len(data))
        if there != data:
            self.differing += sum(one != other for one, other in zip(there, data, strict=False))
            if len(there) != len(data) or self.differing > _FEW_BYTES:
                raise _OtherBytesError
        return len(data)

    def flush(self) -> None:
        """Nothing is kept."""


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


def pack(run: Folder, out: IO[bytes]) -> None:
    manifest = manifests.read(run)
    write_tar(run, manifest.files, out)


@contextmanager
def unpacked(path: Path) -> Iterator[Folder]:
    """The packed bundle in a private temporary directory, for as long as it is looked at.

    Its folder has the name of the run that the file is named after, which verification compares.
    """
    named = path.name.removesuffix(".tar.gz")
    with TemporaryDirectory(prefix="steno-unpacked-") as scratch:
        place = Path(scratch, named if is_run_id(named) else "run")
        place.mkdir(mode=0o700)
        folder = Folder(place)
        with folder:
            try:
                unpack_tar(path, folder, _sizes, manifests.MAX_BYTES)
            except manifests.NewerFormatError as error:
                raise UnreadableBundleError(
                    f"{path}: {error}", hint="`pip install --upgrade steno` gets the newest one"
                ) from None
            except TAR_ERRORS as error:
                raise UnreadableBundleError(
                    f"{path} is not a packed bundle: {error}", hint="`steno pack RUN` makes one"
                ) from None
            yield folder


def _sizes(manifest: bytes) -> dict[str, int]:
    return {name: digest.bytes for name, digest in manifests.parse(manifest).files.items()}
