"""What a run did to files, as the agent-snapshot contract has it: a manifest, and a table of contents.

A content that holds a secret is left out: masked, it would be no content to reconstruct from. The contract
has fewer words than a record: to execute a file is to `read` it, to change its metadata is to `write` it, and
a state that is not known has `exists` null.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from steno.evidence import canonical
from steno.evidence.ignore_rules import IgnoreRules
from steno.judge.types import File, FileState
from steno.model.contents import Contents
from steno.model.documents import file_json
from steno.model.run import Run

MANIFEST = "manifest.json"
BLOBS = "blobs.parquet"
_OPERATIONS = {"execute": "read", "metadata": "write"}
MOST_ROWS = 64
_GROUP_BYTES = 8 << 20
_GIT = ("in_repo", "root", "head", "relative_path", "tracked", "dirty", "ignored")
_NANO = 1_000_000_000
_SPECIAL = {"fifo", "socket", "char", "block"}

Data = dict[str, Any]


@contextmanager
def snapshot(run: Run) -> Iterator[Snapshot]:
    """Of a run with a kernel layer, for as long as it is read."""
    with run.contents() as contents:
        yield Snapshot(run, contents)


def _is_left_out(file: File, rules: IgnoreRules) -> bool:
    """A FIFO, a socket, a device, and what is ignored or lay in a `.git`: the contract skips those."""
    special = any(state.kind in _SPECIAL for state in (file.before, file.after))
    return special or rules.ignores(file.name)


class Snapshot:
    def __init__(self, run: Run, contents: Contents | None) -> None:
        self._facts = run.facts
        self._repositories = [
            {"root": one.root, "head": one.head, "dirty": one.dirty} for one in run.repositories
        ]
        self._contents = contents
        rules = IgnoreRules(map(os.fsencode, self._facts.start.ignored or ()))
        self.recorded = [file for file in run.files if not _is_left_out(file, rules)]
        wanted = {state.blob for file in self.recorded for state in (file.before, file.after)}
        there = {key for key in wanted if key is not None and contents is not None and key in contents}
        self.left_out = {key for key in there if contents is not None and contents.is_encrypted(key)}
        self._kept = there - self.left_out

    def files(self) -> dict[str, Iterable[bytes]]:
        found: dict[str, Iterable[bytes]] = {MANIFEST: [canonical.encode(self._manifest())]}
        if self._kept:
            found[BLOBS] = blob_table(self._blobs())
        return found

    def _manifest(self) -> Data:
        return {
            "command": self._facts.start.cmd_redacted,
            "exit_status": self._facts.exit_code,
            "start_cwd": self._facts.start.cwd,
            "uid": self._facts.start.uid,
            "gid": self._facts.start.gid,
            "git_repositories": self._repositories,
            "files": [self._file(file) for file in self.recorded],
        }

    def _file(self, file: File) -> Data:
        found = {
            "path": file_json(file)["path"],
            "operations": sorted({_OPERATIONS.get(one, one) for one in file.operations}),
            "before": self._state(file.before),
            "after": self._state(file.after) | ({"tombstone": True} if file.is_gone else {}),
        }
        git = file.git
        return found if git is None else {**found, "git": {name: getattr(git, name) for name in _GIT}}

    def _state(self, state: FileState) -> Data:
        if not state.exists:
            return {"exists": state.exists}
        found = {
            "exists": True,
            "type": state.kind,
            "mode": state.mode,
            "mtime": None if state.mtime_ns is None else state.mtime_ns // _NANO,
            "blob": state.blob if state.blob in self._kept else None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _blobs(self) -> Iterator[tuple[str, bytes]]:
        for key, content in self._contents.contents() if self._contents is not None else ():
            if key in self._kept and content is not None:
                yield key, content


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
    """A Parquet table of keys and contents, a bounded part at a time."""
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
