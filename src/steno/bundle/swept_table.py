"""The strings of the tables in Parquet, which are compressed and so hide from whoever reads their bytes.

In: a spooled `syscalls.parquet` or `blobs.parquet` and a redactor. Out: whether a string of it still
holds a secret, and the kernel table written once more without. The contents in `blobs.parquet` are not read:
each was looked at as it was kept, and is encrypted if it holds a secret. What is no table of ours raises
`BadTableError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from steno.bundle.masked_strings import MaskedStrings
from steno.evidence import layout
from steno.evidence.syscalls import COLUMNS, border
from steno.redact.engine import Redactor

_TEXTS = {
    layout.KERNEL_TABLE: [name for name, kind in COLUMNS.items() if kind == "binary"],
    layout.BLOBS: ["key"],
}
# Keys that name contents: one with a secret is not masked, or it would name nothing.
_KEYS = {layout.KERNEL_TABLE: ["blob"], layout.BLOBS: []}


def holds_secret(path: str, file: BinaryIO, redactor: Redactor) -> bool:
    """Whether a string of the table would be masked; an encrypted content says nothing."""
    return any(_masked(strings, redactor) is not None for strings in _strings(path, file))


def write_masked(source: BinaryIO, target: BinaryIO, redactor: Redactor) -> None:
    """The kernel table once more, every string masked as when it is made."""
    from steno.bundle import kernel_table  # late, as the library that it needs

    with border():
        import pyarrow as pa
        from pyarrow import parquet

        read = parquet.ParquetFile(source, read_dictionary=list(COLUMNS))
        with kernel_table.writer(target, read.schema_arrow) as writer:
            for number in range(read.num_row_groups):
                group = read.read_row_group(number, use_threads=False).combine_chunks()
                for name in _TEXTS[layout.KERNEL_TABLE]:
                    column = group.column(name).chunk(0)
                    masked = _masked(column.dictionary.to_pylist(), redactor)
                    if masked is not None:
                        words = pa.array(masked, pa.binary())
                        changed = pa.DictionaryArray.from_arrays(column.indices, words)
                        group = group.set_column(group.schema.get_field_index(name), name, changed)
                writer.write_table(group)


def _strings(path: str, file: BinaryIO) -> Iterator[list[bytes]]:
    """The strings of each column of each row group, each once: those of its dictionary."""
    with border():
        from pyarrow import parquet

        wanted = [*_TEXTS[path], *_KEYS[path]]
        read = parquet.ParquetFile(file, read_dictionary=wanted)
        names = [name for name in wanted if name in read.schema_arrow.names]
        for number in range(read.num_row_groups):
            group = read.read_row_group(number, columns=names, use_threads=False)
            for name in names:
                for chunk in group.column(name).chunks:
                    yield [_bytes(word) for word in chunk.dictionary.to_pylist() if word]


def _bytes(word: bytes | str) -> bytes:
    return word.encode() if isinstance(word, str) else word


def _masked(strings: Sequence[bytes], redactor: Redactor) -> list[bytes] | None:
    """None when there is nothing to mask."""
    masked = MaskedStrings(strings, redactor).take(range(len(strings)))
    return None if masked == list(strings) else masked


def is_swept(path: str) -> bool:
    return path in _TEXTS
