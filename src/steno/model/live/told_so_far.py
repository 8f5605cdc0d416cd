"""What programs told of a run that is not sealed yet, put together as the seal would do it now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from steno.bundle.folder import Folder
from steno.claims.keeping import ClaimsRead, Heard, read_claims
from steno.claims.told_lines import MAX_LOG, MAX_PROXIES, TOO_LARGE, LogRead, PolicyLog
from steno.evidence import canonical, intake, layout, told
from steno.evidence.claims import FileKey, ProcessKey
from steno.evidence.syscalls import batches
from steno.model.live.claims import open_intake
from steno.model.live.kernel_layer import LiveLayers
from steno.model.record import Record, documents_over, readable
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

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
        latest = max(latest, getattr(told.read(line, seq, layers.run_id).told, "at_ns", 0))
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
