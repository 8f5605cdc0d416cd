"""One run, from its first event to its seal. The only place where capture meets bundle.

In: a request (what to run, where, how). Out: the command's exit code and a sealed bundle, or a spool that
`steno recover` can seal. Until the command is started every failure of ours is an error and the command
does not run; from then on nothing we fail at may disturb it: a loss is counted and becomes a gap.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from steno import __version__
from steno.bundle.folder import Folder
from steno.bundle.manifest import Manifest
from steno.bundle.seal import seal
from steno.bundle.spool import Spool
from steno.bundle.store import create_run_folder, publish_run_folder
from steno.bundle.sweep import Sweeper
from steno.capture.host import ToolVersions, describe_environment, describe_host
from steno.capture.keeper import launch
from steno.capture.pump import Pump
from steno.capture.repo import RepoWatch
from steno.capture.repo_types import Change, Skip, Snapshot
from steno.capture.streams import wire
from steno.capture.terminal import DEFAULT_SIZE
from steno.errors import CaptureError, SealError, StoreError
from steno.events import kinds, layout
from steno.events.run_id import format_run_id
from steno.record.witness import SpoolWitness
from steno.redact.engine import Redactor
from steno.redact.findings import Findings

OWN_FAILURE = 125
WITHHELD = "withheld-file"
STATUS_UNKNOWN = "exit_status_unknown"
SYNC_SECONDS = 1.0
_NOT_NOW = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


class RunRequest(NamedTuple):
    command: Sequence[str]
    cwd: Path
    store: Path
    environ: Mapping[str, str]
    git: bool = True
    pty: str = "auto"
    tail_bytes: int = 4000
    raw_logs: bool = False
    name: str | None = None
    exclude: Sequence[Path] = ()  # directories of ours in the repository, which are no change of the run


class Outcome(NamedTuple):
    run_id: str
    path: Path
    exit_code: int
    manifest: Manifest | None  # None: the spool is kept, `steno recover` can seal it
    gaps: list[kinds.Gap]
    not_started: str | None
    seal_failure: str | None
    swallowed_input: int  # bytes of our stdin that the command never read and that could not be put back


def record(request: RunRequest, *, on_sealing: Callable[[int], None]) -> Outcome:
    """Run and record. `on_sealing` is told how many bytes of streams are about to be sealed."""
    _check_cwd(request.cwd)
    findings = Findings()
    redactor = Redactor(findings=findings)
    secrets = [*redactor.secrets_in_env(request.environ), *redactor.secrets_in_argv(request.command)]
    redactor.learn(secrets)
    with _Recording(request, redactor, findings) as recording:
        before = recording.look_before()
        recording.run_command()
        with _undisturbed():
            recording.look_after(before)
            recording.finish()
            on_sealing(recording.stream_bytes)
            return recording.seal(Sweeper(secrets))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """The command is over and the rest is short: a second Control-C must not cost the record its seal."""
    found = {number: signal.signal(number, signal.SIG_IGN) for number in _NOT_NOW}
    try:
        yield
    finally:
        for number, handler in found.items():
            signal.signal(number, handler)


def _check_cwd(cwd: Path) -> None:
    try:
        fd = os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise CaptureError(
            f"cannot run in {cwd}: {error.strerror}", hint="name an existing directory with --cwd DIR"
        ) from error
    os.close(fd)


class _Recording:
    def __init__(self, request: RunRequest, redactor: Redactor, findings: Findings) -> None:
        self._request = request
        self._redactor = redactor
        self._findings = findings
        self._tools = ToolVersions(request.environ)
        self._wiring = wire(request.pty)
        self._run_id = format_run_id(time.time_ns() // 1_000_000, os.urandom(4))
        self._folder = create_run_folder(request.store, self._run_id)
        self._repo = self._watch_repository() if request.git else None
        try:
            self._spool = self._open_spool()
        except BaseException:
            self._abandon()
            raise
        self._witness = SpoolWitness(self._spool, self._wiring, redactor, findings)

    def _abandon(self) -> None:
        """The run never began: leave nothing of it."""
        self.__exit__()
        with suppress(OSError), Folder(self._request.store) as store:
            store.remove_tree(self._folder.path.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._repo is not None:
            self._repo.close()
        self._folder.close()

    def look_before(self) -> Snapshot | Skip | None:
        if self._repo is None:
            return None
        before = self._repo.before()
        self._keep_snapshot(self._repo, before)
        return before

    def look_after(self, before: Snapshot | Skip | None) -> None:
        if self._repo is not None and before is not None:
            self._keep_comparison(self._repo, before, self._repo.after())

    @property
    def stream_bytes(self) -> int:
        return sum(tape.kept_bytes for tape in self._spool.tapes)

    def finish(self) -> None:
        witness = self._witness
        witness.event(kinds.ToolVersions(self._tools.collect()))
        witness.tally()
        witness.declare_losses()
        witness.event(
            kinds.RunFinish(
                witness.exit_code, completed=witness.ended, reason=None if witness.ended else STATUS_UNKNOWN
            )
        )
        self._spool.close()

    def seal(self, sweeper: Sweeper) -> Outcome:
        """A failure here leaves the spool, and says so."""
        witness = self._witness
        manifest, failure = self._seal(sweeper)
        code = OWN_FAILURE if witness.exit_code is None else witness.exit_code
        return Outcome(
            self._run_id,
            self._folder.path,
            code,
            manifest,
            witness.gaps,
            witness.not_started,
            failure,
            witness.swallowed_input,
        )

    def _open_spool(self) -> Spool:
        try:
            spool = Spool(self._folder, self._run_id, self._redactor, mono_origin_ns=time.monotonic_ns())
            spool.event(self._run_start())
        except OSError as error:
            raise StoreError(
                f"cannot write to the store {self._request.store}: {error.strerror}",
                hint="make room, or choose another place with --store DIR",
            ) from error
        self._folder = publish_run_folder(self._folder, self._run_id)
        return spool

    def _run_start(self) -> kinds.RunStart:
        request, wiring = self._request, self._wiring
        size = wiring.user.size() if wiring.user else DEFAULT_SIZE
        on_terminal = wiring.terminal is not None
        return kinds.RunStart(
            cwd=str(request.cwd),
            cmd_redacted=self._redactor.argv(request.command, "command"),
            git_enabled=request.git,
            host=describe_host(),
            terminal=kinds.Terminal(
                kind=wiring.kind,
                streams=wiring.streams,
                stdin=wiring.stdin,
                term=request.environ.get("TERM") if on_terminal else None,
                cols=size.cols if on_terminal else None,
                rows=size.rows if on_terminal else None,
            ),
            tail_bytes=request.tail_bytes,
            raw_logs=request.raw_logs,
            steno_version=__version__,
            env=describe_environment(request.environ),
            name=request.name,
            recorder_pid=os.getpid(),
            scratch=[str(path) for path in self._repo.shadow_paths] if self._repo else [],
        )

    def run_command(self) -> None:
        wiring = self._wiring
        keeper = launch(
            self._request.command,
            cwd=str(self._request.cwd),
            environ=self._request.environ,
            on=wiring.command,
            terminal=wiring.terminal.slave if wiring.terminal else None,
        )
        with _Syncing(self._spool) as syncing:
            Pump(keeper, wiring, self._witness).run()
        if syncing.failure is not None:
            self._witness.gap("sync_failed", f"the disk did not take the spool: {syncing.failure.strerror}")
        keeper.release()
        self._witness.close_tapes()

    # --- git ---------------------------------------------------------------------------------------

    def _watch_repository(self) -> RepoWatch:
        return RepoWatch(
            self._request.cwd,
            exclude=[self._request.store, *self._request.exclude],
            fallback=self._request.store,
            finder=lambda data: bool(self._redactor.find(data)),
        )

    def _keep_snapshot(self, repo: RepoWatch, before: Snapshot | Skip) -> None:
        if isinstance(before, Skip):
            self._witness.event(kinds.RepoSnapshotBefore(reason=before.reason, detail=before.detail))
            self._witness.note_skip(before)
            return
        with self._witness.tolerating_losses():
            self._spool.file(layout.STATUS_BEFORE, [before.status])
            patch = repo.worktree_patch(before)
            digest = self._spool.digest(patch)
            if patch.failure is not None:
                self._witness.gap("repo_before_unknown", f"{patch.failure.reason}: {patch.failure.detail}")
            self._witness.event(kinds.RepoSnapshotBefore(**_facts(before), diff_hash=digest))

    def _keep_comparison(self, repo: RepoWatch, before: Snapshot | Skip, after: Snapshot | Skip) -> None:
        if isinstance(after, Skip):
            self._witness.event(kinds.RepoSnapshotAfter(reason=after.reason, detail=after.detail))
            if isinstance(before, Snapshot):
                self._witness.gap("repo_after_unknown", f"{after.reason}: {after.detail}")
            return
        with self._witness.tolerating_losses():
            self._spool.file(layout.STATUS_AFTER, [after.status])
            worktree = repo.worktree_patch(after)
            digest = self._spool.file(layout.WORKTREE_DIFF, worktree)
            if worktree.failure is not None:
                self._witness.gap(
                    "repo_after_unknown", f"{worktree.failure.reason}: {worktree.failure.detail}"
                )
            compared = self._keep_patch(repo, before, after) if isinstance(before, Snapshot) else {}
            self._witness.event(kinds.RepoSnapshotAfter(**_facts(after), diff_hash=digest, **compared))

    def _keep_patch(self, repo: RepoWatch, before: Snapshot, after: Snapshot) -> dict[str, Any]:
        compared = repo.compare(before, after)
        patch = repo.patch(before, after)
        masked_before = self._findings.total
        self._spool.file(layout.DIFF, patch)
        masked = self._findings.total - masked_before
        for path in compared.withheld:
            self._findings.add(f"{layout.DIFF}:{path}", WITHHELD, b"")
        self._spool.json_file(layout.CHANGES, [_change(change) for change in compared.changes])
        if compared.unpatched:
            paths = ", ".join(f"{file.path} ({file.reason})" for file in compared.unpatched)
            self._witness.gap("patch_incomplete", f"changed, but not in the patch: {paths}")
        failure = compared.failure or patch.failure
        if failure is not None:
            self._witness.gap("patch_incomplete", f"{failure.reason}: {failure.detail}")
        return {
            "changed": len(compared.changes),
            "added_lines": sum(change.added or 0 for change in compared.changes),
            "deleted_lines": sum(change.deleted or 0 for change in compared.changes),
            "withheld": list(compared.withheld),
            "masked_in_patch": masked,
            "unpatched": [file.path for file in compared.unpatched],
        }

    def _seal(self, sweeper: Sweeper) -> tuple[Manifest | None, str | None]:
        try:
            return seal(self._folder, self._run_id, sweeper), None
        except SealError as error:
            return None, str(error)
        except OSError as error:
            return None, f"the record could not be sealed: {error.strerror}"
        except ValueError as error:  # the command may have written into its own spool
            return None, f"the record could not be sealed, its spool is damaged: {error}"


def _facts(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "root": snapshot.root,
        "head": snapshot.head,
        "branch": snapshot.branch,
        "status_summary": snapshot.status_summary,
        "omitted": [
            {"path": file.path, "size": file.size, "reason": file.reason} for file in snapshot.omitted
        ],
        "notes": list(snapshot.notes),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "path": change.path,
        "status": change.status,
        "added": change.added,
        "deleted": change.deleted,
        "binary": change.binary,
    }


class _Syncing:
    """Asks the kernel every second to put the spool on the disk, so that a power cut costs little."""

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
