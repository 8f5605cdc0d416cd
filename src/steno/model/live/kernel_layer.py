"""What the kernel saw of a run that is not sealed yet, as far as it has come: layers that the rules can read.

The frames in its spool become the table that the seal would make of them, masked, in memory. How the run
leaves its files is known when it has ended: until then the state after is unknown.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from steno.bundle import kernel_table
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.frame_records import FramesError
from steno.bundle.frames import Frames, Touched, open_frames
from steno.bundle.kernel_table import mask_path
from steno.bundle.keys import KNOWN_SECRETS, key_of_spool, read_known_secrets
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, layout
from steno.evidence.ignored import IgnoreRules, is_plain
from steno.evidence.kinds import Event, EventData, RunStart
from steno.evidence.syscalls import named_text
from steno.model.record import Record, SpoolLayers, documents_over
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

_TYPES = {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}


class LiveLayers(SpoolLayers):
    def __init__(
        self, spool: Folder, run_id: str, made: Mapping[str, bytes], redactor: Redactor | None = None
    ) -> None:
        """`redactor` is the one that `made` was masked by; None where nobody knows what is secret."""
        super().__init__(spool, run_id)
        self.redactor = redactor
        self._made = made
        self._told = list(super().events())  # now: a seal takes the spool away

    def with_more(self, made: Mapping[str, bytes], events: Iterable[EventData], at_ns: int) -> LiveLayers:
        """The same, and what will be there and told of when the run is sealed."""
        more = LiveLayers(self.folder, self.run_id, {**self._made, **made}, self.redactor)
        last = self._told[-1]
        for seq, data in enumerate(events, last.seq + 1):
            more._told.append(Event(seq, last.ts_ms, max(last.mono_ns, at_ns), self.run_id, data))
        return more

    def events(self) -> Iterator[Event]:
        return iter(self._told)

    def has(self, path: str) -> bool:
        return path in self._made or super().has(path)

    def size(self, path: str) -> int:
        return len(self._made[path]) if path in self._made else super().size(path)

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        if path not in self._made:
            return super().read(path, start)
        data = self._made[path]
        return (data[at : at + BLOCK] for at in range(start, len(data), BLOCK))

    def open(self, path: str) -> BinaryIO:
        return io.BytesIO(self._made[path]) if path in self._made else super().open(path)


def with_kernel_layer(record: Record, store: Path) -> Record | None:
    """The record of a run that is not sealed, with what the kernel saw up to now.

    None where nobody watches, nothing is written yet, or the key of the store is not at hand. What is there
    and cannot be read is an `UnreadableBundleError`.
    """
    spool = record.layers.folder
    try:
        if not spool.has(KNOWN_SECRETS):
            return None  # nobody knows what to mask
        key = key_of_spool(spool, store)
        redactor = Redactor(findings=Findings(), literals=read_known_secrets(spool, key))
        made = _made(spool, key, redactor, _rules(record.facts.start, store))
        layers = LiveLayers(spool, record.run_id, made, redactor)
    except FileNotFoundError:
        return None
    except (OSError, FramesError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableBundleError(
            f"what the kernel saw of {record.run.path} cannot be read: {why}",
            hint="if the run has just ended, ask again",
        ) from error
    return record._replace(layers=layers, documents=documents_over(spool, layers, ""))


def _made(spool: Folder, key: bytes, redactor: Redactor, rules: IgnoreRules) -> dict[str, bytes]:
    with open_frames(spool, key) as frames:
        table = io.BytesIO()
        kernel_table.write_rows(table, frames, redactor)
        lines = b"".join(_lines(frames, redactor, rules))
    return {layout.KERNEL_TABLE: table.getvalue(), layout.FILE_LINES: lines}


def _rules(start: RunStart, store: Path) -> IgnoreRules:
    ours = [*start.scratch, os.path.realpath(store), os.path.abspath(store)]  # noqa: PTH100 - links stay
    return IgnoreRules(map(os.fsencode, [*(start.ignored or ()), *ours]))


def _lines(frames: Frames, redactor: Redactor, rules: IgnoreRules) -> Iterator[bytes]:
    """Of every recorded path that it is touched; of names that are alike once they are masked, one."""
    touched = frames.touched()
    masked = {
        mask_path(redactor, path)
        for path, what in touched.items()
        if is_plain(path) and not rules.ignores(path) and _is_of_interest(what)
    }
    for name in sorted(masked):
        yield canonical.encode_line({**named_text("path", name), "after": {"unknown": True}})


def _is_of_interest(touched: Touched) -> bool:
    if touched.first is None:
        return touched.is_changed
    return stat.S_IFMT(touched.first.mode) in _TYPES
