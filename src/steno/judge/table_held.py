"""What the whole table of system calls holds, after every column of every row was read."""

from __future__ import annotations

from typing import ClassVar, Self

from steno.evidence import wire
from steno.evidence.layers import Layers
from steno.judge.kernel_rows import EVERY, RowBatch
from steno.judge.one_pass import Reading

_KNOWN = frozenset(op.name for op in wire.OPS.values())


class Held:
    columns: ClassVar[tuple[str, ...]] = EVERY
    whole: ClassVar[bool] = True

    def __init__(self) -> None:
        self.rows = 0
        self.blobs: set[str] = set()  # the keys of contents that rows name
        self._operations: set[str] = set()

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    @property
    def unknown_operations(self) -> list[str]:
        """Those that only a newer Steno knows."""
        return sorted(self._operations - _KNOWN)

    def take(self, batch: RowBatch) -> None:
        self.rows += batch.count
        self.blobs.update(key for key in batch.blobs(batch.rows_with("blob")) if key is not None)
        self._operations.update(batch.ops())


def held(layers: Layers) -> Held:
    return Reading.of(layers).scanned(Held)
