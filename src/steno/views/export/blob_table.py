"""The seed's `blobs.parquet`, made piece by piece.

In: keys and contents, one after the other. Out: the bytes of a Parquet table with the columns `key` and
`content`, Snappy-compressed, in row groups of at most 64 rows and few bytes, so that memory stays flat. Never
touches a file.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

MOST_ROWS = 64
_GROUP_BYTES = 8 << 20


class _Drain(io.RawIOBase):
    """Where the writer writes to: what it has written is taken out again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def taken(self) -> list[bytes]:
        pieces, self._pieces = self._pieces, []
        return pieces


def blob_table(blobs: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = pa.schema(
        [pa.field("key", pa.string(), nullable=False), pa.field("content", pa.binary(), nullable=False)]
    )
    drain = _Drain()
    with pq.ParquetWriter(
        drain,
        columns,
        compression="snappy",
        use_dictionary=False,
        write_statistics=False,  # of contents they would be copies
        store_schema=False,
    ) as writer:
        for group in _groups(blobs):
            keys, contents = zip(*group, strict=True)
            batch = pa.record_batch([pa.array(keys), pa.array(contents, pa.binary())], schema=columns)
            writer.write_batch(batch, row_group_size=MOST_ROWS)
            yield from drain.taken()
    yield from drain.taken()


def _groups(blobs: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    group: list[tuple[str, bytes]] = []
    size = 0
    for key, content in blobs:
        group.append((key, content))
        size += len(content)
        if len(group) == MOST_ROWS or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
