"""The contents that a bundle keeps of files: `blobs.parquet`, written and read.

A content that holds a secret is encrypted to the local key, so that its owner can undo and a shared bundle
leaks nothing, not even in the statistics. A row group has few rows and bytes, so memory stays flat. A file
that was made to hurt its reader raises `BlobsError` and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from steno.bundle.folder import TEMPORARY, Folder
from steno.bundle.keys import NONCE_BYTES, TAG_BYTES, decrypt, encrypt
from steno.evidence import layout

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

BLOBS = layout.BLOBS
CLEAR, ENCRYPTED = "", "chacha20poly1305"
GROUP_ROWS = 64
GROUP_BYTES = 8 << 20
ROOM_LEFT = 16 << 20
# What a reader takes: more than this no writer of ours puts into one row group.
MAX_BLOB = 1 << 30
MAX_FOOTER = 256 << 20
_FOOTER_END = 8
_DRAFT = f"{BLOBS}{TEMPORARY}"
_WRITING: dict[str, Any] = {
    "compression": "snappy",
    "use_dictionary": ["cipher"],
    "write_statistics": False,  # they would hold contents
    "store_schema": False,
}


class BlobsError(ValueError):
    """The file of blobs is damaged, has no such key, or the key to open it is another."""


class BlobWriter:
    """Writes the file when the first blob comes; without one there is none. `close` or `discard` it."""

    def __init__(self, folder: Folder, secret_key: bytes) -> None:
        self._folder = folder
        self._secret_key = secret_key
        self._writer: parquet.ParquetWriter | None = None
        self._file: Any = None
        self._rows: list[tuple[str, bytes, str]] = []
        self._bytes = 0
        self.count = 0

    def add(self, key: str, content: bytes, *, secret: bool) -> None:
        if secret:
            self._rows.append((key, encrypt(self._secret_key, content, key), ENCRYPTED))
        else:
            self._rows.append((key, content, CLEAR))
        self.count += 1
        self._bytes += len(content)
        if len(self._rows) >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._flush()

    def has_room(self, size: int) -> bool:
        """Whether the disk takes that much more, and leaves something for the rest of the record."""
        found = os.statvfs(self._folder.path)
        return found.f_bavail * found.f_frsize >= size + self._bytes + ROOM_LEFT

    def close(self) -> None:
        """The file appears whole, under its name."""
        if self._rows:
            self._flush()
        if self._writer is None:
            return
        self._writer.close()
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._file.close()
        self._folder.replace(_DRAFT, BLOBS)
        self._writer = None

    def discard(self) -> None:
        """Nothing is left, also when the disk took nothing more."""
        self._rows.clear()
        self.count = 0
        if self._writer is None:
            return
        for part in (self._writer, self._file):
            with suppress(OSError, ValueError):
                part.close()
        self._writer.is_open = False  # else it tries to end its file once more when it is forgotten
        self._writer = None
        self._folder.remove(_DRAFT)

    def _flush(self) -> None:
        import pyarrow as pa

        keys, contents, ciphers = zip(*self._rows, strict=True)
        self._rows.clear()
        self._bytes = 0
        batch = pa.record_batch([pa.array(keys), _binary(contents), pa.array(ciphers)], schema=_schema())
        del contents
        self._opened().write_batch(batch, row_group_size=GROUP_ROWS)

    def _opened(self) -> parquet.ParquetWriter:
        if self._writer is None:
            from pyarrow import parquet

            with suppress(FileNotFoundError):
                self._folder.remove_tree(_DRAFT)  # of a recorder that was killed
            self._file = os.fdopen(self._folder.create(_DRAFT), "wb")
            self._writer = parquet.ParquetWriter(
                self._file,
                _schema(),
                **_WRITING,
            )
        return self._writer


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("key", pa.string(), nullable=False),
            pa.field("content", pa.binary(), nullable=False),
            pa.field("cipher", pa.string(), nullable=False),
        ]
    )


def _binary(contents: tuple[bytes, ...]) -> pa.Array:
    """One content alone is not copied: it may be as large as a blob can be."""
    import pyarrow as pa

    if len(contents) > 1:
        return pa.array(contents, pa.binary())
    ends = (0).to_bytes(4, "little") + len(contents[0]).to_bytes(4, "little")
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(contents[0])])


# --- reading ---------------------------------------------------------------------------------------------


class BlobReader:
    """The blobs of a bundle. Keys are read once; contents one row group at a time."""

    def __init__(self, source: parquet.ParquetFile) -> None:
        self._source = source
        self._at = -1
        self._group: Any = None
        self._places = self._read_keys()

    def keys(self) -> list[str]:
        return list(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def is_encrypted(self, key: str) -> bool:
        return self._place(key)[2] != CLEAR

    def read(self, key: str, secret_keys: Sequence[bytes] = ()) -> bytes:
        """The content; one that is encrypted needs one of the local keys."""
        group, row, cipher = self._place(key)
        with _one_error():
            if group != self._at:  # neighbours in the file are mostly asked for one after the other
                self._at, self._group = -1, None
                self._group = self._source.read_row_group(
                    group, columns=["content"], use_threads=False
                ).column(0)
                self._at = group
            content: bytes = self._group[row].as_py()
        return _in_clear(cipher, secret_keys, key, content)

    def sizes(self) -> Iterator[tuple[str, int, bool]]:
        """Of every blob its key, the length of the content in clear, and whether it is encrypted."""
        for group in range(self._source.num_row_groups):
            with _one_error():
                rows = self._source.read_row_group(group, columns=_schema().names, use_threads=False)
                lengths = [len(content.as_buffer() or b"") for content in rows.column("content")]
                keys, ciphers = rows.column("key").to_pylist(), rows.column("cipher").to_pylist()
            for key, length, cipher in zip(keys, lengths, ciphers, strict=True):
                beside = 0 if cipher == CLEAR else NONCE_BYTES + TAG_BYTES
                yield key, max(length - beside, 0), cipher != CLEAR

    def contents(self, secret_keys: Sequence[bytes] = ()) -> Iterator[tuple[str, bytes | None]]:
        """Every blob in order of the file; None for one that is encrypted and cannot be opened."""
        for group in range(self._source.num_row_groups):
            with _one_error():
                rows = self._source.read_row_group(group, columns=_schema().names, use_threads=False)
            for row in range(rows.num_rows):
                with _one_error():
                    key, content, cipher = (rows.column(name)[row].as_py() for name in _schema().names)
                try:
                    yield key, _in_clear(cipher, secret_keys, key, content)
                except BlobsError:
                    yield key, None

    def as_kept(self, wanted: Callable[[str], bool], most: int) -> bytes:
        """A file of blobs with only some of these, as they are kept: encrypted ones stay encrypted.

        One that would bring the contents above `most` bytes is left out. Empty: none is wanted, or fits.
        """
        import pyarrow as pa
        from pyarrow import parquet

        out, room = pa.BufferOutputStream(), most
        with parquet.ParquetWriter(out, _schema(), **_WRITING) as writer:
            for group in sorted({group for key, (group, *_) in self._places.items() if wanted(key)}):
                with _one_error():
                    rows = self._source.read_row_group(group, columns=_schema().names, use_threads=False)
                    chosen = []
                    for row, key in enumerate(rows.column("key").to_pylist()):
                        size = len(rows.column("content")[row].as_buffer() or b"")
                        if wanted(key) and size <= room:
                            room -= size
                            chosen.append(row)
                    if chosen:
                        writer.write_table(rows.take(chosen), row_group_size=GROUP_ROWS)
        return b"" if room == most else out.getvalue().to_pybytes()

    def _place(self, key: str) -> tuple[int, int, str]:
        try:
            return self._places[key]
        except KeyError:
            raise BlobsError(f"there is no blob {key!r}") from None

    def _read_keys(self) -> dict[str, tuple[int, int, str]]:
        places: dict[str, tuple[int, int, str]] = {}
        for group in range(self._source.num_row_groups):
            with _one_error():
                rows = self._source.read_row_group(group, columns=["key", "cipher"], use_threads=False)
                pairs = zip(rows.column("key").to_pylist(), rows.column("cipher").to_pylist(), strict=True)
                for row, (key, cipher) in enumerate(pairs):
                    if key in places:
                        raise BlobsError(f"the blob {key!r} is there twice")
                    places[key] = (group, row, cipher)
        return places


@contextmanager
def open_blobs(folder: Folder) -> Iterator[BlobReader]:
    """Raises `BlobsError` also when there is no file of blobs."""
    with _one_error():
        file = os.fdopen(folder.open(BLOBS), "rb")
    with file:
        with _one_error():
            reader = BlobReader(_checked(file))
        yield reader


def _checked(file: Any) -> parquet.ParquetFile:
    """A reader for a file whose own figures are ones that our writer could have written."""
    from pyarrow import parquet

    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - _FOOTER_END))
    if int.from_bytes(file.read(4), "little") > min(size, MAX_FOOTER):
        raise BlobsError("the footer is longer than the file")
    source = parquet.ParquetFile(
        file,
        thrift_string_size_limit=MAX_FOOTER,
        thrift_container_size_limit=MAX_FOOTER // 64,
        page_checksum_verification=False,
    )
    present = list(source.schema_arrow)  # a newer Steno may have more columns
    for field in _schema():
        if [found for found in present if found.name == field.name] != [field]:
            raise BlobsError("the columns are not key, content, cipher")
    for number in range(source.num_row_groups):
        group = source.metadata.row_group(number)
        if group.num_rows > GROUP_ROWS or group.total_byte_size > MAX_BLOB + GROUP_BYTES:
            raise BlobsError(f"row group {number} is larger than any that is written")
    return source


def _in_clear(cipher: str, secret_keys: Sequence[bytes], key: str, content: bytes) -> bytes:
    if cipher not in {CLEAR, ENCRYPTED}:
        raise BlobsError(f"the blob {key!r} is encrypted in a way that only a newer Steno knows: {cipher!r}")
    return content if cipher == CLEAR else _decrypted(secret_keys, key, content)


def _decrypted(secret_keys: Sequence[bytes], key: str, content: bytes) -> bytes:
    if not secret_keys:
        raise BlobsError(f"the blob {key!r} holds a secret and is encrypted to a key that is not here")
    if len(content) < NONCE_BYTES + TAG_BYTES:
        raise BlobsError(f"the blob {key!r} is too short to be encrypted")
    for secret_key in secret_keys:
        if (clear := decrypt(secret_key, content, key)) is not None:
            return clear
    raise BlobsError(f"the blob {key!r} cannot be opened with the keys that are here")


@contextmanager
def _one_error() -> Iterator[None]:
    """Pyarrow raises OSError for nearly everything, and much else for bytes that are made to hurt."""
    from pyarrow import ArrowException

    try:
        yield
    except BlobsError:
        raise
    except (ArrowException, OSError, ValueError, LookupError, TypeError, RuntimeError, MemoryError) as error:
        raise BlobsError(f"the blobs cannot be read: {error}") from error
