"""The tables of a run, `steno-<run_id>-tables/`: each as Parquet and as lines of JSON.

They are a copy of what follows from the evidence: `judgement.json` says of which evidence, by which rules,
with the digest of every file. No Steno reads them back but to compare them (`tables_check`).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from steno import __version__
from steno.evidence import canonical
from steno.model.run import Run
from steno.model.tables import Table, plain
from steno.views.export import Exported
from steno.views.export.placing import place_tree

NAME = "steno-{run_id}-tables"
STAMP = "judgement.json"
_BLOCK = 1 << 18


def export(run: Run, directory: Path) -> Exported:
    return Exported(place_tree(directory, NAME.format(run_id=run.run_id), _Files(run)))


class _Files(dict[str, Iterable[bytes]]):
    """By name; the stamp is written last, when the digests of the others are known."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._digests: dict[str, str] = {}
        for name, table in run.tables.items():
            self[f"{name}.parquet"] = self._noted(f"{name}.parquet", parquet(table))
            self[f"{name}.ndjson"] = self._noted(f"{name}.ndjson", map(json_line, table))
        self[STAMP] = self._stamp(run)

    def _noted(self, name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        digest = hashlib.sha256()
        for block in blocks:
            digest.update(block)
            yield block
        self._digests[name] = digest.hexdigest()

    def _stamp(self, run: Run) -> Iterator[bytes]:
        info = run.info
        told = {"rules": info.rules, "root": info.root, "run_id": info.run_id, "steno": __version__}
        yield canonical.encode({**told, "files": self._digests})


def json_line(row: Any) -> bytes:
    """A row as JSON: numbers beyond 2^53 as text, bytes in base64."""
    return canonical.encode_line(_portable(plain(row)))


def _portable(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case bool() | None:
            return value
        case int() if abs(value) > canonical.SAFE_INTEGER:
            return str(value)
        case dict():
            return {name: _portable(one) for name, one in value.items()}
        case list():
            return [_portable(one) for one in value]
    return value


def parquet(table: Table[Any]) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    with TemporaryFile() as file:
        with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
            for batch in table.batches():
                writer.write_batch(batch)
        file.seek(0)
        yield from _blocks(file)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block
