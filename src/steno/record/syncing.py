"""Asks the kernel every second to put the spool on the disk, so that a power cut costs little.

In: a spool. Out: nothing, or the failure of the disk, once. Never stops the recorder for it.
"""

from __future__ import annotations

import threading
from typing import Self

from steno.bundle.spool import Spool

SYNC_SECONDS = 1.0


class Syncing:
    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._work, name="steno-sync", daemon=True)
        self.failure: OSError | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._enough.wait(SYNC_SECONDS):
            try:
                self._spool.sync()
            except OSError as error:
                # The kernel tells of a failed write-back once: whoever syncs later would hear nothing.
                self.failure = error
                return
