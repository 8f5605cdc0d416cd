"""What a derivation may ask of a recording: its events and the bytes of its primary files.

Implemented by a spool that is being sealed and by a bundle that is being read, so that the same pure
functions write the derived files and check them later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Protocol

from steno.evidence.kinds import Event


class Layers(Protocol):
    @property
    def run_id(self) -> str: ...

    def events(self) -> Iterator[Event]: ...

    def has(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        """The file's bytes from `start`, in blocks of a bounded size."""
        ...

    def open(self, path: str) -> BinaryIO:
        """The file, to be read at any place. The caller closes it."""
        ...
