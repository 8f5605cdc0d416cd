"""Recovers runs of killed recorders, and removes what they left around them.

A run whose recorder is alive is never touched, and no directory is removed that is not one of ours.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.keys import KNOWN_SECRETS, key_of_spool, read_known_secrets
from steno.bundle.lock import is_live
from steno.bundle.manifest import completeness_of
from steno.bundle.reader import event_lines
from steno.bundle.recover import Keepers, Recovered, finish_interrupted_seal, recover
from steno.bundle.store import UNPUBLISHED, RunState, run_ids, state_of
from steno.capture import cgroup
from steno.capture.ignore import load
from steno.capture.tmpfs import abandoned_shadows, remove_shadow
from steno.claims import folder as claims_folder
from steno.claims.layers import Heard, keep_claims
from steno.errors import BadRequestError, CaptureError, StenoError, StoreError, UnreadableBundleError
from steno.evidence import canonical, kinds, layout
from steno.evidence.ignore_rules import IgnoreRules
from steno.evidence.intake_names import DISTURBED
from steno.evidence.kinds import Event, EventData
from steno.record.kernel import KernelKept, keep_kernel_layer
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

# A recorder takes its lock within moments of making its folder; a folder this old without one has none.
STALE_SECONDS = 60.0
MAX_BLOB = 16 << 20  # of a run that does not tell its own


class RecoveryResult(StrEnum):
    RECOVERED = "recovered"
    TIDIED = "tidied"
    ALREADY_SEALED = "already_sealed"
    RUNNING = "running"
    REMOVED = "removed"
    FAILED = "failed"


class Report(NamedTuple):
    run: str
    done: RecoveryResult
    says: str
    hint: str | None = None
    gaps: tuple[str, ...] = ()
    exit_code: int = 0


def recover_run(path: Path) -> Report:
    """Seal one run. A run that is being recorded, or that holds nothing, is an error."""
    try:
        run = Folder(path)
    except OSError as error:
        raise UnreadableBundleError(
            f"cannot open {path}: {error.strerror}", hint="name a run's directory"
        ) from error
    with run:
        try:
            return _recover(run)
        except (OSError, ValueError) as error:
            raise UnreadableBundleError(
                f"{path} cannot be recovered: {_why(error)}", hint=_hint(error, path)
            ) from error


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error.strerror if isinstance(error, OSError) else error)


def _hint(error: OSError | ValueError, path: Path) -> str:
    if not isinstance(error, OSError):
        return f"the spool was changed by another program; what is left of it is in {path / layout.SPOOL}"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "make room on the disk, and try again"
    named = f"{os.fsdecode(error.filename)} in " if error.filename else ""
    return f"look at {named}{path}, and try again when it can be read and written"


def recover_all(store: Path, *, now: float | None = None) -> Iterator[Report]:
    """Every run of the store that needs it, oldest first; one that fails does not stop the others."""
    for run_id in sorted(run_ids(store)):
        path = store / run_id
        if _needs_recovery(path):
            yield _reported(path)
    yield from remove_unpublished(store, now=time.time() if now is None else now)
    for path in abandoned_shadows():
        if remove_shadow(path):
            yield Report(
                str(path), RecoveryResult.REMOVED, "private copies of a recorder that was killed are removed"
            )
    for left in claims_folder.remove_left():
        if left.removed:
            yield Report(
                str(left.path),
                RecoveryResult.REMOVED,
                "what programs told a recorder that is gone is removed",
            )


def remove_unpublished(store: Path, *, now: float) -> Iterator[Report]:
    """Remove the folders of recorders that were killed before their run began."""
    if not store.is_dir():
        return
    with Folder(store) as folder:
        for name in sorted(os.listdir(store)):
            if name.startswith(UNPUBLISHED) and _is_stale(store / name, now):
                yield _remove(folder, name)


def _recover(run: Folder) -> Report:
    name = run.path.name
    state = state_of(run)
    if state is RunState.SEALED:
        return Report(name, RecoveryResult.ALREADY_SEALED, "is sealed already")
    if state is RunState.RUNNING:
        raise BadRequestError(
            f"{name} is still being recorded", hint="wait for it to end, or stop its recorder"
        )
    if state is RunState.ORPHANED:
        raise BadRequestError(
            f"the recorder of {name} is gone, but its command goes on and the kernel is still watched",
            hint="wait for the command to end, or stop it; then this seals what was recorded",
        )
    if state is RunState.DAMAGED:
        raise UnreadableBundleError(
            f"{name} has neither a manifest nor a spool", hint="nothing is left of it"
        )
    if finish_interrupted_seal(run):
        _remove_around(run)
        return Report(
            name, RecoveryResult.TIDIED, "was sealed; what the interrupted seal left behind is removed"
        )
    recovered = _recover_all_layers(run)
    _remove_around(run)
    gaps = tuple(completeness_of(recovered.facts).gaps)
    says = "is recovered and sealed" if gaps else "was recorded to its end; it is sealed now"
    return Report(name, RecoveryResult.RECOVERED, says, gaps=gaps)


def _recover_all_layers(run: Folder) -> Recovered:
    store = run.path.absolute().parent
    known = _known_secrets(run, store)
    findings = Findings()
    redactor = Redactor(findings=findings, literals=known or ())

    def keep_kernel(spool: Folder) -> KernelKept:
        start = _run_start(spool)[1]
        rules = claims_folder.ignoring(_rules_of(start), _intakes(spool))
        max_blob = MAX_BLOB if start is None or start.max_blob is None else start.max_blob
        return keep_kernel_layer(spool, store, redactor, findings, rules, max_blob=max_blob, looked=False)

    def fold_claims(spool: Folder, first: Event) -> Iterator[EventData]:
        return _fold_claims(spool, first, redactor, texts=known is not None)

    return recover(run, Keepers(keep_kernel, fold_claims), known or ())


def _rules_of(start: kinds.RunStart | None) -> IgnoreRules:
    """Those of the run. A run of an earlier version does not tell them: then those of whoever recovers it."""
    if start is not None and start.ignored is not None:
        return IgnoreRules(os.fsencode(path) for path in start.ignored)
    try:
        return load(os.environ)
    except CaptureError:
        return IgnoreRules(())


def _fold_claims(spool: Folder, first: Event, redactor: Redactor, *, texts: bool) -> Iterator[EventData]:
    """From the logs, if they are still there; else what the recorder had made of them, as far as it came."""
    start = first.data
    if not isinstance(start, kinds.RunStart) or start.intake is None:
        return
    found = _open_intake(spool, start)
    if found is None and spool.has(layout.CLAIMS):
        yield kinds.Gap(DISTURBED, "the folder is gone; what was told is as the recorder left it")
        return
    how = Heard(first.run_id, start.shim, canonical.SAFE_INTEGER, texts=texts)
    try:
        events = keep_claims(spool, found, redactor, how)
    finally:
        if found is not None:
            found.close()
    for event in events:
        yield msgspec.convert(redactor.tree(msgspec.to_builtins(event), f"events.{event.type}"), type(event))


def _open_intake(spool: Folder, start: kinds.RunStart) -> claims_folder.IntakeFolder | None:
    owner = os.fstat(spool.fd).st_uid
    for path in _intakes(spool):
        if (found := claims_folder.open_left(path, start.intake or claims_folder.MEMORY, owner)) is not None:
            return found
    return None


def _intakes(spool: Folder) -> list[Path]:
    """Where the intake of the run may be."""
    told = _told_scratch(spool)
    return [*told.intakes, spool.path.absolute() / claims_folder.ON_DISK]


def _known_secrets(run: Folder, store: Path) -> list[bytes] | None:
    """What the recorder knew; without its key the frames cannot be read either. None: nobody knows."""
    try:
        with run.sub(layout.SPOOL) as spool:
            if not spool.has(KNOWN_SECRETS):
                return None
            return read_known_secrets(spool, key_of_spool(spool, store))
    except (OSError, StoreError):
        return None


def _reported(path: Path) -> Report:
    try:
        return recover_run(path)
    except StenoError as error:
        return Report(
            path.name, RecoveryResult.FAILED, str(error), hint=error.hint, exit_code=error.exit_code
        )


def _needs_recovery(path: Path) -> bool:
    try:
        with Folder(path, follow=False) as run:
            return state_of(run) is RunState.UNSEALED
    except OSError:
        return False


def _is_stale(path: Path, now: float) -> bool:
    try:
        with Folder(path, follow=False) as run:
            return not is_live(run) and path.lstat().st_mtime < now - STALE_SECONDS
    except OSError:
        return False


def _remove(store: Folder, name: str) -> Report:
    try:
        with store.sub(name) as run:
            if run.has_folder(layout.SPOOL):
                with run.sub(layout.SPOOL) as spool:
                    _remove_scratch(run, spool)
        store.remove_tree(name)
    except OSError as error:
        return Report(name, RecoveryResult.FAILED, f"cannot be removed: {error.strerror}", exit_code=1)
    return Report(name, RecoveryResult.REMOVED, "never began; its folder is removed")


def _remove_around(run: Folder) -> None:
    """What the recorder had outside of the folder. A cgroup with processes stays: theirs is no leftover."""
    _remove_scratch(run, run)
    for _ in cgroup.remove_leftovers(run.path.name):
        """It is removed on the way."""


def _remove_scratch(run: Folder, events: Folder) -> None:
    """Remove the private directories that the run's first event names. `remove_shadow` knows ours."""
    told = _told_scratch(events)
    for scratch in told.shadows:
        remove_shadow(scratch, fallback=run.path.parent)
    for path in told.intakes:
        if (left := claims_folder.open_left(path, claims_folder.MEMORY, os.fstat(run.fd).st_uid)) is not None:
            left.remove()


class _Scratch(NamedTuple):
    shadows: list[Path]
    intakes: list[Path]


def _told_scratch(events: Folder) -> _Scratch:
    run_id, start = _run_start(events)
    paths = [Path(path) for path in start.scratch] if start is not None else []
    own = f"{claims_folder.PREFIX}{run_id}"
    return _Scratch(
        [path for path in paths if path.name != own], [path for path in paths if path.name == own]
    )


def _run_start(events: Folder) -> tuple[str, kinds.RunStart | None]:
    """The id of the run and its first event, as far as they can be read."""
    try:
        first = kinds.parse_line(next(event_lines(events), b""))
    except (OSError, ValueError):
        return "", None
    return first.run_id, first.data if isinstance(first.data, kinds.RunStart) else None
