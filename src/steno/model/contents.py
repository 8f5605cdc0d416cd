"""The contents of files that a record keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steno.bundle import local_key
from steno.bundle.blobs import BlobReader, BlobsError, open_blobs
from steno.bundle.folder import Folder
from steno.errors import StoreError
from steno.evidence import layout
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


def secret_key(store: Path) -> bytes | None:
    """The key by which contents of a store's own runs that hold a secret can be read."""
    try:
        with Folder(store) as folder:
            return local_key.read(folder)
    except (OSError, StoreError):
        return None
