"""One run, followed: what happened so far, then what happens, until it is sealed or its recorder is gone.

Files are held open, so that a run which is sealed between two looks is followed to its end. What is secret
was told by the recorder to its spool, encrypted: without that, only what is masked already is shown. Nothing
writes, holds a lock, or waits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from steno.bundle.folder import Folder
from steno.bundle.keys import KNOWN_SECRETS, key_of_spool, read_known_secrets
from steno.bundle.store import RunState
from steno.errors import StoreError
from steno.evidence import kinds, layout
from steno.evidence.kinds import Event
from steno.judge.activity import RUN, Happening
from steno.model.live.claims import ClaimsWatch, intakes, open_intake
from steno.model.live.growing import GrowingLines, taken
from steno.model.live.kernel import KernelWatch, Taken, open_kernel_watch
from steno.model.live.recorder import Recorder
from steno.model.live.run_events import of_event
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

_NO_OBSERVER = "none"


class Step(NamedTuple):
    happenings: list[Happening]
    passed_over: int = 0  # happenings, and calls that may be some
    ended: RunState | None = None


class Following:
    def __init__(self, run: Folder, store: Path) -> None:
        self._run = run
        self._store = store
        self._recorder = Recorder(run)
        self._spool: Folder | None = None
        self._events: GrowingLines | None = None
        self._kernel: KernelWatch | None = None
        self._claims: ClaimsWatch | None = None
        self._start: Event | None = None
        self._redactor: Redactor | None = None  # knows what is secret in this run
        self._key: bytes | None = None
        self._known_bytes = 0  # of the secrets that were read
        self._has_looked = False
        self._last_ns = 0  # of what was told so far
        self._told_that_it_is_gone = False
        self._told: list[Happening] = []  # waits for the next look
        self.why_no_kernel: str | None = None

    def close(self) -> None:
        for each in (self._events, self._kernel, self._claims, self._spool):
            if each is not None:
                each.close()

    def look(self, most: int) -> Step:
        """What is new, at most the newest `most` happenings of it."""
        ended = self._recorder.has_ended()
        over = ended is not None
        self._open_what_is_there()
        self._learn_what_was_typed()
        events = [] if self._events is None else list(_events(taken(self._events.take, over=over)))
        if events and self._start is None:
            self._start = events[0]
            self._open_what_is_there()
        told = [one for event in events if (one := of_event(event)) is not None]
        if self._claims is not None:
            told += taken(self._claims.take, over=over)
        kernel = self._kernel.take(most, to_the_end=over) if self._kernel else Taken([])
        self._last_ns = max([self._last_ns, *(one.at_ns for one in (*told, *kernel.happenings))])
        if self._recorder.is_gone and not self._told_that_it_is_gone:
            self._told_that_it_is_gone = True
            told.append(_gone(self._last_ns, self._run.path.name))
        told = self._in_step(told, wait=self._kernel is not None and not over)
        found = sorted([*kernel.happenings, *told], key=lambda one: one.at_ns)
        left_out = max(len(found) - most, 0)
        return Step(found[left_out:], kernel.passed_over + left_out, ended)

    def _in_step(self, told: list[Happening], *, wait: bool) -> list[Happening]:
        """Calls are told at the second look; so is what else happened, so that all comes in order of time."""
        if wait and self._has_looked:
            ready, self._told = self._told, told
        else:
            ready, self._told = [*self._told, *told], []
        self._has_looked = True
        return ready

    def _open_what_is_there(self) -> None:
        """The recorder makes one file after the other; each is held from the first look that finds it."""
        with suppress(OSError):
            if self._spool is None:
                self._spool = self._run.sub(layout.SPOOL)
            if self._events is None:
                self._events = GrowingLines(self._spool.open(layout.EVENTS))
        if self._spool is not None and self._start is not None:
            if self._kernel is None and self.why_no_kernel is None:
                self._open_kernel(self._spool, self._start)
            if self._claims is None:
                self._open_claims(self._spool, self._start)

    def _open_kernel(self, spool: Folder, first: Event) -> None:
        if not spool.has(KNOWN_SECRETS):
            return  # made when the command is started
        try:
            key = key_of_spool(spool, self._store)
        except (OSError, StoreError) as error:
            self.why_no_kernel = str(error)
            return
        self._key = key
        self._redactor = self._redactor or Redactor(findings=Findings())
        self._learn_what_was_typed()
        ours = intakes(first.data, first.run_id) if isinstance(first.data, kinds.RunStart) else []
        self._kernel = open_kernel_watch(spool, key, self._redactor, ours)

    def _learn_what_was_typed(self) -> None:
        """What was secret from the start, and what has shown itself as secret since."""
        if self._spool is None or self._key is None or self._redactor is None:
            return
        with suppress(OSError):  # the spool may be gone
            size = self._spool.size(KNOWN_SECRETS)
            if size != self._known_bytes:
                self._known_bytes = size
                self._redactor.learn(read_known_secrets(self._spool, self._key))

    def _open_claims(self, spool: Folder, first: Event) -> None:
        start = first.data
        if not isinstance(start, kinds.RunStart) or start.intake is None:
            return
        if self._redactor is None and start.observer != _NO_OBSERVER and self.why_no_kernel is None:
            return  # what is secret will be told
        owner = os.fstat(spool.fd).st_uid
        folder = open_intake(self._run.path.absolute(), start, first.run_id, owner)
        if folder is not None:
            redactor = self._redactor or Redactor(findings=Findings())
            texts = self._redactor is not None
            self._claims = ClaimsWatch(folder, first.run_id, redactor, texts=texts)


@contextmanager
def following(run: Folder, store: Path) -> Iterator[Following]:
    found = Following(run, store)
    try:
        yield found
    finally:
        found.close()


def _gone(at_ns: int, run_id: str) -> Happening:
    goes_on = "its command goes on and only the kernel is watched"
    says = f"{goes_on}; when it has ended, `steno recover {run_id}` seals it"
    return Happening(at_ns, RUN, "recorder is gone:", says, bad=True, facts={"type": "recorder_gone"})


def _events(lines: list[bytes]) -> Iterator[Event]:
    for line in lines:
        with suppress(kinds.BadEventError):
            yield kinds.parse_line(line + b"\n")
