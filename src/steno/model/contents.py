"""The contents of files that a record keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steno.bundle.blobs import BlobReader, BlobsError, open_blobs
from steno.bundle.folder import Folder
from steno.bundle.keys import read_keys
from steno.errors import StoreError
from steno.evidence import layout
from steno.model.kernel_layer import checked

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
