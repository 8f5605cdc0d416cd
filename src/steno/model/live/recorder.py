"""Whether a run that is followed is still being recorded."""

from __future__ import annotations

from steno.bundle.folder import Folder
from steno.bundle.store import RunState, state_of

# A look takes its time, and the run may be sealed meanwhile; so many in a row mean that nobody seals it.
_LOOKS_WITHOUT_RECORDER = 5


class Recorder:
    def __init__(self, run: Folder) -> None:
        self._run = run
        self._missed = 0
        self._orphaned = 0

    @property
    def is_gone(self) -> bool:
        """The command goes on, and nobody records it but the observer of the kernel."""
        return self._orphaned >= _LOOKS_WITHOUT_RECORDER

    def has_ended(self) -> RunState | None:
        state = state_of(self._run)
        if state is RunState.ORPHANED:
            self._orphaned += 1
            return None
        self._orphaned = 0
        if state is RunState.RUNNING:
            self._missed = 0
            return None
        if state is RunState.UNSEALED:
            self._missed += 1
            return state if self._missed >= _LOOKS_WITHOUT_RECORDER else None
        return state
