"""The contents that a record keeps, by key; or why one cannot be had.

In: a key such as `before:/repo/notes.txt`. Out: its bytes. `LackingContentError` says why there are none, in
words for the user; nobody guesses a content. A content that holds a secret can be read with the key of the
store that it was recorded in, and with no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from steno.bundle import local_key
from steno.bundle.blobs import BlobReader, BlobsError, open_blobs
from steno.bundle.folder import Folder
from steno.errors import BadBundleError, StoreError
from steno.evidence.layout import BLOBS


class LackingContentError(Exception):
    """The record does not hold a content, or it cannot be decrypted here."""


class Contents(Protocol):
    def get(self, key: str) -> bytes:
        """The content of that key, or a `LackingContentError`."""


class BundleContents:
    def __init__(self, blobs: BlobReader | None, secret_key: bytes | None) -> None:
        self._blobs = blobs
        self._secret_key = secret_key

    def get(self, key: str) -> bytes:
        if self._blobs is None or key not in self._blobs:
            raise LackingContentError("its content is not in the record")
        try:
            return self._blobs.read(key, self._secret_key)
        except BlobsError:
            if self._blobs.is_encrypted(key):
                raise LackingContentError(
                    "its content holds a secret, encrypted to a key that is not the one of this store"
                ) from None
            raise LackingContentError("its content in the record is damaged") from None


@contextmanager
def open_contents(run: Folder, store: Path) -> Iterator[BundleContents]:
    if not run.has(BLOBS):
        yield BundleContents(None, None)
        return
    try:
        with open_blobs(run) as blobs:
            yield BundleContents(blobs, _secret_key(store))
    except BlobsError as error:
        raise BadBundleError(f"{BLOBS}: {error}", hint="nothing was changed") from error


def _secret_key(store: Path) -> bytes | None:
    try:
        with Folder(store) as folder:
            return local_key.read(folder)
    except (OSError, StoreError):
        return None
