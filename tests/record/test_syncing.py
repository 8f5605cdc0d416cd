"""The spool is put on the disk while the command runs; an error of the disk is kept for the record."""

from __future__ import annotations

import errno
from typing import cast

import pytest

from steno.bundle.spool import Spool
from steno.record import run
from support.waiting import until


class FailingSpool:
    def sync(self) -> None:
        raise OSError(errno.EIO, "Input/output error")


def test_an_error_of_the_disk_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SYNC_SECONDS", 0.001)
    with run.PeriodicFsync(cast("Spool", FailingSpool())) as running:
        until(lambda: running.failure is not None)
    assert running.failure is not None
    assert running.failure.errno == errno.EIO
