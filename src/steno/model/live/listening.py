"""The terminal of a run that is going on: what it showed a moment ago, then what it shows.

It is the terminal itself where it is recorded, else stdout and stderr. Nothing writes, holds a lock, or
waits.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from steno.bundle.folder import Folder
from steno.bundle.reader import event_lines
from steno.bundle.store import RunState
from steno.evidence import kinds, layout
from steno.model.live.growing import GrowingTape, Heard, taken
from steno.model.live.recorder import Recorder

_MOST_BEFORE = 64 << 10


class Sound(NamedTuple):
    heard: list[Heard]
    passed_over: int = 0  # bytes that came before
    ended: RunState | None = None


class Listening:
    def __init__(self, run: Folder) -> None:
        """Raises OSError or ValueError where no run has begun."""
        self._recorder = Recorder(run)
        self._spool = run.sub(layout.SPOOL)
        self._tapes: dict[str, GrowingTape] = {}
        try:
            first = kinds.parse_line(next(event_lines(self._spool), b""))
        except BaseException:
            self.close()
            raise
        self.terminal = first.data.terminal if isinstance(first.data, kinds.RunStart) else None

    def close(self) -> None:
        for tape in self._tapes.values():
            tape.close()
        self._spool.close()

    def look(self) -> Sound:
        ended = self._recorder.has_ended()
        passed_over = self._open_tapes()
        over = ended is not None
        heard = [one for tape in self._tapes.values() for one in taken(tape.take, over=over)]
        return Sound(sorted(heard, key=lambda one: one.mono_ns), passed_over, ended)

    def _open_tapes(self) -> int:
        merged = self._spool.has(layout.index_of(layout.OUTPUT)) or layout.OUTPUT in self._tapes
        passed_over = 0
        for name in (layout.OUTPUT,) if merged else (layout.STDOUT, layout.STDERR):
            if name not in self._tapes:
                with suppress(OSError):
                    self._tapes[name] = tape = self._open_tape(name)
                    passed_over += tape.skip_to_last(_MOST_BEFORE)
        return passed_over

    def _open_tape(self, name: str) -> GrowingTape:
        data = self._spool.open(name)
        try:
            return GrowingTape(data, self._spool.open(layout.index_of(name)))
        except BaseException:
            os.close(data)
            raise
