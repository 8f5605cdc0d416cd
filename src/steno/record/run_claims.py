"""The claims of a run that is being recorded: its intake while the command runs, its layers when it is over.

In: the id of the run and the shim that was asked for. Out: what the environment of the command gets, and at
the end the two layers, with their events and gaps told to the witness. Before the command is started a folder
that cannot be made is an error; after that nothing here is.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from steno.bundle.folder import Folder
from steno.bundle.keys import keys_path
from steno.errors import StoreError
from steno.evidence import kinds, layout
from steno.evidence.ignored import IgnoreRules
from steno.evidence.intake_names import DISTURBED
from steno.record import intake
from steno.record.witness import SpoolWitness
from steno.redact.redactor import Redactor


class RunClaims:
    def __init__(self, run_id: str, shim: str, origin_ns: int) -> None:
        self._run_id = run_id
        self._shim = shim
        self._origin_ns = origin_ns
        self._intake = intake.make_in_memory(run_id)
        self.place = intake.DISK if self._intake is None else intake.MEMORY
        self.scratch = [] if self._intake is None else [str(self._intake.path)]
        self.sdk_intake: kinds.SdkIntake | None = None  # once they are kept
        self.variables = dict.fromkeys(intake.VARIABLES, "")  # names only: the values differ from run to run

    def open(self, run: Path) -> dict[str, str]:
        """The variables that lead programs of the run to its intake."""
        try:
            if self._intake is None:
                self._intake = intake.make_on_disk(run)
        except OSError as error:
            raise StoreError(
                f"cannot make a folder for claims in {run}: {error.strerror}",
                hint="make room, or choose another place with --store DIR",
            ) from error
        self._intake.belongs_to(run)
        return self._intake.environment(self._run_id, self._origin_ns)

    def ignored(self, rules: IgnoreRules) -> IgnoreRules:
        """What is told to us, and the local keys, are ours: no file of the run, and nobody's to undo."""
        told = None if self._intake is None else self._intake.path
        keys = None if (path := keys_path()) is None else path.resolve()
        return intake.ignoring(rules, [path for path in (told, keys) if path is not None])

    def keep(self, run: Folder, witness: SpoolWitness, redactor: Redactor, now_ns: int) -> None:
        try:
            with run.sub(layout.SPOOL) as spool:
                events = self._events(spool, redactor, now_ns)
        except OSError as error:  # the command may have removed the store
            events = [kinds.Gap(DISTURBED, f"what was told could not be kept: {error.strerror}")]
        for event in events:
            if isinstance(event, kinds.Gap):
                witness.gap(event.reason, event.detail)
                continue
            witness.event(event)
            if isinstance(event, kinds.SdkIntake):
                self.sdk_intake = event

    def _events(self, spool: Folder, redactor: Redactor, now_ns: int) -> list[kinds.EventData]:
        silent = self._intake is not None and self._intake.is_silent()
        if silent and self._shim in {kinds.ANY_SHIM, kinds.NO_SHIM}:
            with suppress(FileNotFoundError):
                spool.remove_tree(layout.CLAIMS)  # the command may have made one
            return []
        from steno.claims.keeping import Heard, keep_claims  # late: in most runs nobody tells anything

        return keep_claims(spool, self._intake, redactor, Heard(self._run_id, self._shim, now_ns))

    def close(self, *, needed: bool) -> None:
        """What is still needed stays, for `steno recover`."""
        if self._intake is None:
            return
        if needed:
            self._intake.close()
        elif not self._intake.remove():
            said = f"steno: {self._intake.path} could not be removed; `steno doctor --clean` tries again"
            print(said, file=sys.stderr, flush=True)
