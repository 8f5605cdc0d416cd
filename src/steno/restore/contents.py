"""The contents that a record keeps, by key; or why one cannot be had.

In: a key such as `before:/repo/notes.txt`. Out: its bytes. `LackingContentError` says why there are none, in
words for the user; nobody guesses a content. A content that holds a secret can be read with the key of the
store that it was recorded in, and with no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from steno.errors import BadBundleError
from steno.evidence.layout import BLOBS
from steno.model import contents
from steno.model.contents import ContentsError, secret_keys
from steno.model.run import Run


class LackingContentError(Exception):
    """The record does not hold a content, or it cannot be decrypted here."""


class Contents(Protocol):
    def get(self, key: str) -> bytes:
        """The content of that key, or a `LackingContentError`."""


class KeptContents:
    def __init__(self, blobs: contents.Contents | None, keys: Sequence[bytes] = ()) -> None:
        self._blobs = blobs
        self._keys = keys

    def get(self, key: str) -> bytes:
        if self._blobs is None or key not in self._blobs:
            raise LackingContentError("its content is not in the record")
        try:
            return self._blobs.read(key, self._keys)
        except ContentsError:
            if self._blobs.is_encrypted(key):
                raise LackingContentError(
                    "its content holds a secret, encrypted to a key that is not here"
                ) from None
            raise LackingContentError("its content in the record is damaged") from None


@contextmanager
def open_contents(run: Run, store: Path) -> Iterator[KeptContents]:
    if not run.has_contents:
        yield KeptContents(None)
        return
    try:
        with run.open_contents() as blobs:
            yield KeptContents(blobs, secret_keys(store))
    except ContentsError as error:
        raise BadBundleError(f"{BLOBS}: {error}", hint="nothing was changed") from error
