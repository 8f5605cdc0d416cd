"""What a rule may ask of a record: its events and the bytes of its evidence.

Implemented by a spool and by a bundle, so that the same pure functions judge both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Protocol

from steno.evidence.index import Arrival
from steno.evidence.kinds import Event


class Layers(Protocol):
    @property
    def run_id(self) -> str: ...

    def events(self) -> Iterator[Event]: ...

    def has(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        """The file's bytes from `start`, in blocks of a bounded size; one that is empty may be absent."""
        ...

    def arrivals(self, tape: str) -> Iterator[Arrival]:
        """When the bytes of a stream came."""
        ...

    def open(self, path: str) -> BinaryIO:
        """The file, to be read at any place. The caller closes it."""
        ...
