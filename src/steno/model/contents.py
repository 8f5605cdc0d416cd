"""The contents of files that a record keeps, and the paths that a run changed without a kept state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from steno.bundle.blobs import BlobReader, BlobsError, open_blobs
from steno.bundle.folder import Folder
from steno.bundle.keys import read_keys
from steno.errors import StoreError
from steno.evidence import layout
from steno.judge import surface_names
from steno.judge.surface import Surface
from steno.model.record import checked

Contents = BlobReader
ContentsError = BlobsError


@contextmanager
def kept_contents(run: Folder) -> Iterator[Contents | None]:
    """The contents that a bundle keeps; one that keeps none has no file of them."""
    if not run.has(layout.BLOBS):
        yield None
        return
    with checked(run, layout.BLOBS), open_blobs(run) as blobs:
        yield blobs


def secret_keys(store: Path) -> list[bytes]:
    """The keys by which contents of a store's own runs that hold a secret can be read."""
    try:
        return read_keys(store)
    except (OSError, StoreError):
        return []


INSIDE_GIT = "inside .git"
OTHER_ROOT = "in another root"
LEFT_OUT = "ignored, special, or of another user"


class NotKept(NamedTuple):
    path: str
    did: tuple[str, ...]  # of created, written and deleted
    why: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "did": list(self.did), "why": self.why}


def not_kept(surface: Surface, files: Iterable[bytes]) -> list[NotKept]:
    """`files` are the paths that have a state."""
    done = surface.steno.files
    kept = {surface_names.path_name(path, surface.run_id, other_root=False) for path in files}
    ways = {
        "created": set(done.created) - kept,
        "written": set(done.written) - set(done.created) - kept,
        "deleted": set(done.deleted) - kept,
    }
    return [
        NotKept(path, tuple(did for did, paths in ways.items() if path in paths), _why(path))
        for path in sorted(set().union(*ways.values()))
        if surface_names.is_file(path)
    ]


def _why(path: str) -> str:
    if path.startswith(surface_names.OTHER_ROOT):
        return OTHER_ROOT
    return INSIDE_GIT if ".git" in path.split("/") else LEFT_OUT
