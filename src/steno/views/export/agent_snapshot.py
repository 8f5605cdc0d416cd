"""The second seed's view: a directory of `manifest.json` and `blobs.parquet`, to the letter of the seed.

In: a sealed bundle with a kernel layer, and the directory that is to be the snapshot. Out: the seed's two
files, the same bytes every time; the second only when there is a blob, written with flat memory. A content
that holds a secret is left out, and the caller is told: masked, it would be no content to reconstruct from.
Never writes a secret, nor what the bundle does not hold.

The seed has fewer words than the bundle: to execute a file is to `read` it, to change its metadata is to
`write` it, and a state that is not known has `exists` null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from steno.bundle.blobs import BlobReader
from steno.bundle.folder import Folder
from steno.errors import BadRequestError
from steno.evidence import canonical
from steno.model.contents import kept_contents
from steno.model.file_rows import file_row
from steno.model.kernel_layer import File, KernelLayer, State, whole
from steno.model.record import Record, open_record
from steno.views import content_missing
from steno.views.export import Exported
from steno.views.export.blob_table import blob_table
from steno.views.export.placing import place_tree
from steno.views.plain import listed

MANIFEST = "manifest.json"
BLOBS = "blobs.parquet"
_OPERATIONS = {"execute": "read", "metadata": "write"}
_SHOWN = 5
_SPECIAL = {"fifo", "socket", "char", "block"}

Data = dict[str, Any]


def export(folder: Folder, directory: Path) -> Exported:
    if not directory.name:
        raise BadRequestError(f"{directory} cannot be a snapshot", hint="name a new directory with -o DIR")
    with open_record(folder) as record, kept_contents(record.run) as contents:
        made = _Snapshot(record, KernelLayer(record), contents)
        place_tree(directory.parent, directory.name, made.files())
    return Exported(directory, tuple(made.notes()))


def _is_left_out(file: File) -> bool:
    """A FIFO, a socket or a device, before or after, and what lay in a `.git`: the contract skips those."""
    special = any(state.exists and state.type in _SPECIAL for state in (file.before, file.after))
    return special or b".git" in file.name.split(b"/")


class _Snapshot:
    def __init__(self, record: Record, layer: KernelLayer, contents: BlobReader | None) -> None:
        self._layer = layer
        self._facts = record.facts
        self._contents = contents
        self._files = [seen.file for seen in layer.files() if not _is_left_out(seen.file)]
        wanted = {state.blob for file in self._files for state in (file.before, file.after)}
        there = {key for key in wanted if key is not None and contents is not None and key in contents}
        self._left_out = {key for key in there if contents is not None and contents.is_encrypted(key)}
        self._kept = there - self._left_out

    def files(self) -> dict[str, Iterable[bytes]]:
        found: dict[str, Iterable[bytes]] = {MANIFEST: [canonical.encode(self._manifest())]}
        if self._kept:
            found[BLOBS] = blob_table(self._blobs())
        return found

    def notes(self) -> Iterator[str]:
        if self._left_out:
            yield f"contents left out, because they hold secrets: {listed(sorted(self._left_out), _SHOWN)}"
        yield from content_missing.lines(content_missing.content_missing(map(file_row, self._files)))

    def _manifest(self) -> Data:
        return {
            "command": self._facts.start.cmd_redacted,
            "exit_status": self._facts.exit_code,
            "start_cwd": self._facts.start.cwd,
            "uid": self._facts.start.uid,
            "gid": self._facts.start.gid,
            "git_repositories": [msgspec.to_builtins(one) for one in self._layer.repositories()],
            "files": [self._file(file) for file in self._files],
        }

    def _file(self, file: File) -> Data:
        found = {
            "path": file.path,
            "operations": sorted({_OPERATIONS.get(one, one) for one in file.operations}),
            "before": self._state(file.before),
            "after": self._state(file.after),
        }
        return found if file.git is None else {**found, "git": msgspec.to_builtins(file.git)}

    def _state(self, state: State) -> Data:
        if not state.exists:
            return {"exists": state.exists, **({"tombstone": True} if state.tombstone else {})}
        found = {
            "exists": True,
            "type": state.type,
            "mode": state.mode,
            "mtime": None if state.mtime is None else whole(state.mtime),
            "blob": state.blob if state.blob in self._kept else None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _blobs(self) -> Iterator[tuple[str, bytes]]:
        for key, content in self._contents.contents() if self._contents is not None else ():
            if key in self._kept and content is not None:
                yield key, content
