"""Where a secret could be: every file below some places, unpacked, and the strings of its tables."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def files_of(*places: Path) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each file, and of what lies packed in it."""
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.is_file():
                yield from _unpacked(str(path), path.read_bytes())


def assert_nowhere(secrets: Iterable[str | bytes], *places: Path) -> None:
    """None of the secrets is in a file below these places, nor in an archive or a table there."""
    sought = [secret.encode() if isinstance(secret, str) else secret for secret in secrets]
    found = [(secret, name) for name, data in files_of(*places) for secret in sought if secret in data]
    assert found == []


def _unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, data
    if name.endswith(".gz"):
        yield from _unpacked(name.removesuffix(".gz"), gzip.decompress(data))
    elif name.endswith((".tar", ".tgz")):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if (file := archive.extractfile(member)) is not None:
                    yield from _unpacked(f"{name}:{member.name}", file.read())
    elif data[:4] == data[-4:] == b"PAR1":
        yield f"{name}, its strings", strings_of(data)


def strings_of(table: bytes) -> bytes:
    """All that a table says in strings and bytes."""
    words: dict[bytes, None] = {}
    for column in pq.read_table(io.BytesIO(table)).columns:
        kind = column.type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_large_binary(kind):
            values = column.unique().to_pylist()
            words.update(
                (value if isinstance(value, bytes) else value.encode(), None) for value in values if value
            )
    return b"\n".join(words)
