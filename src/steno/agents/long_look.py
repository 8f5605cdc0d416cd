"""Looking at the files of a run directory when there are many: it is told, and the user can end it.

In: a directory held open, what an earlier look found, and whom to tell. Out: what is there now. A look that
is short says nothing and cannot be ended, so that one Control-C too many, meant for the agent, costs nothing.
A longer one tells how far it is, and from then on a signal that we ignore otherwise ends it: what comes after
the agent goes on without it. Never ends a look that the user did not ask to be ended.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from steno.agents.snapshot import Look, look
from steno.bundle.folder import Folder
from steno.errors import StoreError
from steno.text import units

PATIENCE = 0.5  # seconds, before there is a word and between two
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Tell = Callable[[str | None], None]  # None: there is nothing to tell any more


class LookEndedError(StoreError):
    """The user did not want to wait."""


class LongLook:
    def __init__(self, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        # What the user ignores, as nohup(1) does, is ignored here as well.
        self._ending = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]

    def look(self, directory: Folder, earlier: Look | None = None) -> Look:
        with _Watched(self._tell, self._clock, self._ending).watching() as on_seen:
            return look(directory, earlier=earlier, on_seen=on_seen)


class _Watched:
    """One look."""

    def __init__(self, tell: Tell, clock: Callable[[], float], ending: list[signal.Signals]) -> None:
        self._tell = tell
        self._clock = clock
        self._ending = ending
        self._next = clock() + PATIENCE
        self._files = 0
        self._bytes = 0
        self._found: dict[signal.Signals, Any] | None = None  # handlers; None: nothing was told yet

    @contextmanager
    def watching(self) -> Iterator[Callable[[int, int], None]]:
        try:
            yield self._seen
        finally:
            for number, handler in (self._found or {}).items():
                signal.signal(number, handler)
            if self._found is not None:
                self._tell(None)

    def _seen(self, files: int, size: int) -> None:
        self._files += files
        self._bytes += size
        now = self._clock()
        if now < self._next:
            return
        self._next = now + PATIENCE
        if self._found is None:
            ignored = [number for number in self._ending if signal.getsignal(number) is signal.SIG_IGN]
            self._found = {number: signal.signal(number, _end) for number in ignored}
        self._tell(f"looking at the files: {self._files}, {units.size(self._bytes)} read; Control-C ends it")


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise LookEndedError(
        f"not all files were looked at: {signal.Signals(number).name} ended it",
        hint="what the agent did is recorded; only the list of changed files is missing",
    )
