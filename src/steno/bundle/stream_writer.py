"""One recorded stream while it is being recorded: masked bytes and, beside them, when they came.

Bytes pass the redactor before they reach the file, so what could be the beginning of a secret waits in memory
until it is known. A stream that cannot be written any more (a full disk) counts what it loses and never stops
the command.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from typing import Protocol

from steno.bundle.folder import Folder, write_all
from steno.evidence import index, layout
from steno.evidence.index import Arrival

BATCH_BYTES = 64 * 1024
# What comes within half a millisecond, with nothing on another stream in between, has come at one time.
ONE_MOMENT_NS = 500_000


class Masker(Protocol):
    def feed(self, data: bytes) -> bytes: ...
    def settle(self) -> bytes: ...
    def close(self) -> bytes: ...


class StreamWriter:
    def __init__(self, folder: Folder, name: str, masker: Masker) -> None:
        self.name = name
        self.lost_bytes = 0
        self.failure: OSError | None = None
        self.was_changed = False  # by somebody else; what is missing then is lost
        self._last_ns = 0
        self._masker = masker
        self._waiting: deque[Arrival] = deque()
        self._moment_is_over = False
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self._data = folder.create(name, append=True)
        self._index = folder.create(layout.index_of(name), append=True)
        self._sizes = 0, 0  # of the bytes and of the index, as far as they agree

    @property
    def files(self) -> tuple[tuple[str, int], ...]:
        return (self.name, self._data), (layout.index_of(self.name), self._index)

    @property
    def kept_bytes(self) -> int:
        return self._sizes[0]

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def append(self, mono_ns: int, data: bytes) -> None:
        """Take bytes that have just come. A flood is masked and written in larger pieces than it comes in."""
        for start in range(0, len(data), index.MAX_LENGTH):
            part = data[start : start + index.MAX_LENGTH]
            self._note(mono_ns, len(part))
            self._batch.append(part)
            self._batch_bytes += len(part)
        if self._batch_bytes >= BATCH_BYTES:
            self.flush()

    def end_moment(self) -> None:
        """Something has come on a stream beside this one: what comes here now came after it."""
        self._moment_is_over = True

    def flush(self) -> None:
        """Mask and write what has come; done whenever the streams are quiet for a moment."""
        if self._batch:
            batch, self._batch, self._batch_bytes = b"".join(self._batch), [], 0
            self._keep(self._masker.feed(batch))

    def _note(self, mono_ns: int, length: int) -> None:
        last = self._waiting[-1] if self._waiting else None
        if (
            last is not None
            and not self._moment_is_over
            and mono_ns - last.mono_ns < ONE_MOMENT_NS
            and last.length + length <= index.MAX_LENGTH
        ):
            self._waiting[-1] = Arrival(last.mono_ns, last.length + length)
        else:
            self._waiting.append(Arrival(mono_ns, length))
            self._moment_is_over = False

    def settle(self) -> None:
        """The stream is quiet: keep everything that cannot become a secret any more."""
        self.flush()
        self._keep(self._masker.settle())

    def sync(self) -> None:
        os.fdatasync(self._data)
        os.fdatasync(self._index)

    def close(self) -> None:
        self.flush()
        self._keep(self._masker.close())
        with suppress(OSError):  # a full disk: what fits is told already
            self._mend()
        os.close(self._data)
        os.close(self._index)

    def _keep(self, masked: bytes) -> None:
        if not masked:
            return
        arrivals = self._arrivals_of(len(masked))
        kept = self._write(masked, arrivals) if self.failure is None else 0
        self.lost_bytes += len(masked) - kept

    def _write(self, masked: bytes, arrivals: list[Arrival]) -> int:
        """How many bytes are kept: on the tape and in its index, which agree also when the disk is full."""
        written = 0
        try:
            while written < len(masked):
                written += os.write(self._data, memoryview(masked)[written:])
        except OSError as error:
            self.failure = error
            arrivals = _first(arrivals, written)
        records = index.pack(arrivals)
        try:
            write_all(self._index, records)
        except OSError as error:
            self.failure = self.failure or error
            self._cut_back()
            return 0
        self._sizes = self._sizes[0] + written, self._sizes[1] + len(records)
        self._last_ns = arrivals[-1].mono_ns if arrivals else self._last_ns
        return written

    def _mend(self) -> None:
        """The command may write into the files: what is there is kept, and the index is made to cover it."""
        there = os.fstat(self._data).st_size, os.fstat(self._index).st_size
        if there == self._sizes:
            return
        self.was_changed = True
        expected, _ = self._sizes
        kept = os.fstat(self._data).st_size
        self.lost_bytes += max(0, expected - kept)
        os.ftruncate(self._index, 0)
        lengths = _cut(kept, index.MAX_LENGTH)  # when each came is not known any more
        records = index.pack([Arrival(self._last_ns, length) for length in lengths])
        write_all(self._index, records)
        self._sizes = kept, len(records)

    def _cut_back(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._data, self._sizes[0])
            os.ftruncate(self._index, self._sizes[1])

    def _arrivals_of(self, length: int) -> list[Arrival]:
        taken = []
        while length > 0:
            first = self._waiting.popleft()
            if first.length > length:
                self._waiting.appendleft(Arrival(first.mono_ns, first.length - length))
                first = Arrival(first.mono_ns, length)
            taken.append(first)
            length -= first.length
        return taken


def _first(arrivals: list[Arrival], length: int) -> list[Arrival]:
    """The arrivals of the first `length` bytes."""
    taken = []
    for arrival in arrivals:
        part = min(arrival.length, length)
        if part:
            taken.append(Arrival(arrival.mono_ns, part))
        length -= part
    return taken


def _cut(total: int, most: int) -> list[int]:
    return [min(most, total - start) for start in range(0, total, most)]
