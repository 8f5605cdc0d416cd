"""What the kernel saw of a run that is not sealed yet, and what programs told, as the seal would make it now.

The frames in its spool become the table of system calls, and the logs of its programs the lines of claims,
masked, in memory. How the run leaves its files is known when it has ended: until then the state after is
unknown.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from steno.bundle import kernel_table
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.frame_records import FramesError
from steno.bundle.frames import Frames, Touched, open_frames
from steno.bundle.kernel_table import mask_path
from steno.bundle.keys import KNOWN_SECRETS, key_of_spool, read_known_secrets
from steno.claims.layers import ClaimsRead, Heard, read_claims
from steno.claims.logs import MAX_LOG, MAX_PROXIES, TOO_LARGE, LogRead, PolicyLog
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, claim_lines, intake, layout
from steno.evidence.claims import FileKey, ProcessKey
from steno.evidence.ignore_rules import IgnoreRules, is_plain
from steno.evidence.kinds import Event, EventData, RunStart
from steno.evidence.syscalls import batches, named_text
from steno.model.live.claims import open_intake
from steno.model.record import Record, SpoolLayers, documents_over, readable
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

    None where nobody watches, nothing is written yet, or the local key is not at hand. What is there
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


_NO_OBSERVER = "none"


def with_claims(record: Record, observed: Record | None) -> Record:
    """The record of a run that is not sealed, with what its programs told up to now.

    `observed` is the same with what the kernel saw, where that is known.
    """
    with readable(record.run):
        layers = observed.layers if observed is not None else None
        if not isinstance(layers, LiveLayers):
            layers = LiveLayers(record.layers.folder, record.run_id, {})
        if not layers.has(layout.CLAIMS):  # a recorder that is about to seal has made them
            read = _read(record, layers.redactor)
            made = {layout.CLAIMS: b"".join(read.lines)}
            layers = layers.with_more(made, read.events, _latest_ns(layers, read))
    return record._replace(layers=layers, documents=documents_over(layers.folder, layers, ""))


def _read(record: Record, redactor: Redactor | None) -> ClaimsRead:
    """Where nobody knows what is secret in this run, the arguments of calls are left out."""
    start = record.facts.start
    owner = os.fstat(record.layers.folder.fd).st_uid
    secrets_come = redactor is None and start.observer != _NO_OBSERVER and start.unobserved is None
    folder = None
    if start.intake is not None and not secrets_come:
        folder = open_intake(record.run.path.absolute(), start, record.run_id, owner)
    if folder is None:
        return ClaimsRead([], [])
    with folder:
        how = Heard(record.run_id, start.shim, canonical.SAFE_INTEGER, texts=redactor is not None)
        return read_claims(_Logs(folder), redactor or Redactor(findings=Findings()), how)


def _latest_ns(layers: LiveLayers, read: ClaimsRead) -> int:
    """When the last thing was that is known of the run: until then its open calls have gone on."""
    latest = 0
    for seq, line in enumerate(read.lines):
        latest = max(latest, getattr(claim_lines.read(line, seq, layers.run_id).told, "at_ns", 0))
    if layers.has(layout.KERNEL_TABLE):
        for batch in batches(layers, ["mono_ns"]):
            latest = max([latest, *batch.numbers("mono_ns")])
    return latest


class _Logs:
    """The logs of the intake as far as whole lines were written."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def problem(self) -> str | None:
        return None

    def read(self, name: str) -> LogRead:
        data = bytearray()
        with suppress(OSError):
            status = self._folder.status(name)
            for block in self._folder.read(name):
                data += block
                if len(data) > MAX_LOG:
                    return LogRead(bytes(data[:MAX_LOG]), TOO_LARGE)
            whole = data[: data.rfind(b"\n") + 1]
            fits = max(status.st_dev, status.st_ino) <= canonical.SAFE_INTEGER
            return LogRead(bytes(whole), None, FileKey(status.st_dev, status.st_ino) if fits else None)
        return LogRead(bytes(data))

    def policy_logs(self) -> Iterator[PolicyLog]:
        names = [name for name in self._folder.names() if intake.policy_log_owner(name) is not None]
        for name in sorted(names)[:MAX_PROXIES]:
            owner = intake.policy_log_owner(name)
            if owner is not None:
                yield PolicyLog(ProcessKey(*owner), self.read(name))
