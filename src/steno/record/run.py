"""One run, from its first event to its seal: the only place where capture meets bundle.

Until the command is started every failure of ours is an error and the command does not run; from then on
nothing we fail at may disturb it: a loss is counted and becomes a gap.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple, NoReturn, Self

from steno import __version__
from steno.bundle import judgement_cache
from steno.bundle.folder import Folder
from steno.bundle.frames import LOGS
from steno.bundle.keys import HeldKeys, KnownSecrets, keys_path, make_or_read_key
from steno.bundle.lock import KERNEL
from steno.bundle.manifest import Manifest
from steno.bundle.reader import FolderLayers
from steno.bundle.spool import Spool
from steno.bundle.store import create_run_folder, earlier_runs, publish_run_folder
from steno.capture.git.process import ending_at
from steno.capture.git.snapshot import RepoWatch
from steno.capture.host import ToolVersions, describe_environment, describe_hook_program, describe_host
from steno.capture.launcher import Launch, Launcher, close_to_others, launch, limits_of
from steno.capture.loop import Loop
from steno.capture.observer import (
    NONE,
    Frames,
    Observer,
    choose_observer,
    hint_of,
    launch_observed,
    why_unobserved,
)
from steno.capture.signals import defer_signals, ignore_library_signals, ignore_signals
from steno.capture.streams import wire
from steno.capture.terminal import DEFAULT_SIZE
from steno.claims.folder import RunClaims
from steno.contracts import assay
from steno.errors import CaptureError, SealError, StoreError
from steno.evidence import kinds, layout
from steno.evidence.kinds import ANY_SHIM
from steno.evidence.run_id import format_run_id
from steno.record.gaps import OUTLIVED, counted
from steno.record.git import RepositoryRecord
from steno.record.recorder import Recorder, RunScope
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

SYNC_SECONDS = 1.0


class PeriodicFsync:
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


OWN_FAILURE = 125
STATUS_UNKNOWN = "exit_status_unknown"
_OF_THE_KERNEL_LAYER = (
    "steno.record.kernel",
    "cryptography.hazmat.primitives.ciphers.aead",
    "pyarrow.parquet",
)
_ELSEWHERE = "/var/tmp"  # noqa: S108 - a directory that nobody else can know is made there

After = Callable[[FolderLayers], Iterable[kinds.EventData]]  # it is given the spool


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
    observer: str = "auto"
    split: bool = True
    max_blob: int = 16 << 20
    allow_io_uring: bool = False
    shim: str = ANY_SHIM  # who tells what the agent says of itself
    wait_descendants: float = 2.0  # seconds; for processes that the command left behind
    exclude: Sequence[Path] = ()  # directories of ours in the repository, which are no change of the run
    recorder_environ: Mapping[str, str] | None = None  # what the recorder itself goes by, where it differs
    shown: bool = True  # False: what the command writes on its terminal is recorded and shown to nobody
    before: Sequence[kinds.EventData] = ()  # told before the command starts
    run_id: str | None = None  # chosen by whoever has to find the record, whatever becomes of this process
    opens_ours: bool = False  # the command opens files of this process by their names in /proc
    after: After | None = None  # asked when it is over for what else there is to tell; does not raise


class Outcome(NamedTuple):
    run_id: str
    path: Path
    exit_code: int  # of the command
    manifest: Manifest | None  # None: the spool is kept, `steno recover` can seal it
    gaps: list[kinds.Gap]
    not_started: str | None
    seal_failure: str | None
    observed: kinds.KernelObserved | None
    swallowed_input: int  # bytes of our stdin that the command never read and that could not be put back
    sdk_intake: kinds.SdkIntake | None = None
    unwritten: Mapping[str, str] = {}  # a tape whose bytes did not reach the user -> why
    unobserved: CaptureError | None = None  # why the kernel was not observed although it should have been

    @property
    def exits_with(self) -> int:
        """As the command did, which could not see that its output or its record was lost behind us."""
        lost = self.unwritten or self.seal_failure is not None
        return OWN_FAILURE if lost and not self.exit_code else self.exit_code


def new_run_id() -> str:
    return format_run_id(time.time_ns() // 1_000_000, os.urandom(4))


def record(request: RunRequest, *, on_sealing: Callable[[int], None]) -> Outcome:
    """Run and record. `on_sealing` is told how many bytes of streams are about to be sealed."""
    _check_cwd(request.cwd)
    findings = Findings()
    redactor = Redactor(findings=findings)
    secrets = [
        *redactor.secrets_in_env(request.environ),
        *redactor.secrets_in_env(request.recorder_environ or {}),
        *redactor.secrets_in_argv(request.command),
    ]
    redactor.learn(secrets)
    with _Recording(request, redactor, findings, secrets) as recording:
        recording.look_before()
        recording.run_command()
        with ignore_signals() as signals:
            with ending_at(signals):  # git may wait for what the command left, a pipe in place of a file
                recording.look_after()
            recording.ask_for_more()
            recording.finish()
            on_sealing(recording.stream_bytes)
            return recording.seal()


def _check_cwd(cwd: Path) -> None:
    try:
        fd = os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise CaptureError(
            f"cannot run in {cwd}: {error.strerror}", hint="name an existing directory with --cwd DIR"
        ) from error
    os.close(fd)


def _load(with_kernel: bool) -> None:
    for name in (*(_OF_THE_KERNEL_LAYER if with_kernel else ()), "steno.bundle.seal"):
        import_module(name)


class _Recording:
    def __init__(
        self, request: RunRequest, redactor: Redactor, findings: Findings, secrets: Sequence[bytes]
    ) -> None:
        self._request = request
        self._redactor = redactor
        self._findings = findings
        self._secrets = list(secrets)
        self._known: KnownSecrets | None = None  # the same values, for a recovery
        ours = request.environ if request.recorder_environ is None else request.recorder_environ
        self._tools = ToolVersions(ours)
        self._unobserved = why_unobserved(request.observer, ours)
        self._observer = choose_observer(request.observer, ours)
        stops = self._observer is not None and self._observer.stops
        self._wiring = wire(request.pty, split=request.split and stops, shown=request.shown)
        self._ended_by = ignore_library_signals()
        self._origin_ns = time.monotonic_ns()
        self._observed: kinds.KernelObserved | None = None
        self._unsealable: str | None = None  # what the spool holds would be lost
        self._is_loading = False
        self._launched = False
        self._finished = False  # everything is in the spool
        self._run_id = request.run_id or new_run_id()
        self._folder = create_run_folder(request.store, self._run_id)
        self._earlier = earlier_runs(request.store)
        self._key: bytes | None = None
        self._keys: HeldKeys | None = None  # the command may remove them
        self._scope: RunScope | None = None
        self._repo: RepoWatch | None = None
        self._claims = RunClaims(self._run_id, request.shim, self._origin_ns, assay.VARIABLES)
        try:
            if self._observer is not None:
                self._scope = RunScope(self._run_id, self._observer, ours)
                self._observer = self._scope.observer
            self._repo = self._watch_repository() if request.git else None
            self._spool = self._open_spool()
            self._environ = {**request.environ, **self._claims.open(self._folder.path)}
            if self._observer is not None:
                self._observer = self._observer._replace(ignored=self._claims.ignored(self._observer.ignored))
            self._recorder = Recorder(self._spool, self._wiring, findings, self._learn)
            if self._scope is not None:
                self._recorder.event(self._scope.event())
            self._repository = (
                RepositoryRecord(self._repo, self._spool, self._recorder, findings) if self._repo else None
            )
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """The run never began: leave nothing of it."""
        with ignore_signals():
            self._finished = True
            self._close()
            with suppress(OSError), Folder(self._request.store) as store:
                store.remove_tree(self._folder.path.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._launched:
            self._close()
        else:
            self._abandon()

    def _close(self) -> None:
        if self._scope is not None:
            self._scope.close()
        if self._repo is not None:
            self._repo.close()
        self._claims.close(needed=not self._finished)
        if self._known is not None:
            self._known.close()
        self._folder.close()

    def look_before(self) -> None:
        if self._repository is not None:
            self._load_the_rest()  # while git works
            self._repository.look_before()
        for event in self._request.before:
            self._recorder.event(event)

    def look_after(self) -> None:
        self._look_after_the_store()
        if self._repository is not None:
            self._repository.look_after()
        if self._observer is not None:
            self._keep_kernel_layer(self._observer)

    def ask_for_more(self) -> None:
        if self._request.after is not None:
            with suppress(OSError), self._folder.sub(layout.SPOOL) as spool:  # it may have been removed
                for event in self._request.after(FolderLayers(spool, self._run_id)):
                    self._recorder.event(event)

    def _look_after_the_store(self) -> None:
        """A command that nobody stops can remove our record, and those of other runs."""
        told = []
        if self._spool.lost_names(self._folder):
            try:
                self._write_again()
                told.append("this record was removed, and written again from what the recorder held open")
                if self._folder.path.parent != self._request.store:
                    told.append(f"the store cannot be made again: the record is {self._folder.path}")
            except (OSError, StoreError) as error:
                told.append(f"this record was removed, and could not be written again: {error}")
        if (why := self._folder.out_of_reach()) is not None:
            named, self._folder.path = self._folder.path, self._folder.where_it_is()
            told.append(f"this record cannot be reached at {named} ({why}); it is at {self._folder.path}")
        now = earlier_runs(self._request.store)
        one, many = "record of an earlier run", "records of earlier runs"
        if gone := len(self._earlier.keys() - now.keys()):
            told.append(counted(gone, f"{one} is", f"{many} are", "no longer there"))
        sealed = {run_id: seal for run_id, seal in self._earlier.items() if seal is not None}
        if changed := sum(run_id in now and now[run_id] != seal for run_id, seal in sealed.items()):
            told.append(counted(changed, f"{one} was", f"{many} were", "changed"))
        if self._keys is not None and (lost := self._keys.put_back(self._folder.path.parent)):
            told.append(counted(lost, "local key was", "local keys were", "removed or changed, and put back"))
        if told:
            self._recorder.gap("store_changed", "; ".join(told))

    def _write_again(self) -> None:
        if self._folder.has_a_name:
            self._spool.write_lost_again(self._folder)
            return
        try:
            store = self._request.store
            folder = create_run_folder(store, self._run_id)
        except StoreError:  # a home that cannot be made again
            store = Path(mkdtemp(prefix="steno-", dir=_ELSEWHERE))
            folder = create_run_folder(store, self._run_id)
        self._spool.write_lost_again(folder)
        self._folder.close()
        self._folder = publish_run_folder(folder, self._run_id)

    @property
    def stream_bytes(self) -> int:
        return sum(writer.kept_bytes for writer in self._spool.streams)

    def finish(self) -> None:
        recorder = self._recorder
        if self._spool.mend_events():
            recorder.gap(
                "store_changed", "somebody else changed the events of this record: they are as told again"
            )
        recorder.event(kinds.ToolVersions(self._tools.collect()))
        self._claims.keep(self._folder, recorder, self._redactor, self._spool.now())
        recorder.tally()
        recorder.declare_losses()
        if self._unsealable is None:  # else `steno recover` makes the rest, and the end
            why = None if recorder.ended else STATUS_UNKNOWN
            recorder.event(kinds.RunFinish(recorder.exit_code, completed=recorder.ended, reason=why))
        self._spool.finish()
        self._finished = self._unsealable is None

    def seal(self) -> Outcome:
        """A failure here leaves the spool, and says so."""
        recorder = self._recorder
        manifest, failure = self._seal()
        self._spool.let_go()
        return Outcome(
            self._run_id,
            self._folder.path,
            OWN_FAILURE if recorder.exit_code is None else recorder.exit_code,
            manifest,
            recorder.gaps,
            recorder.not_started,
            failure,
            self._observed,
            recorder.swallowed_input,
            self._claims.sdk_intake,
            recorder.unwritten,
            self._unobserved,
        )

    def _open_spool(self) -> Spool:
        try:
            spool = Spool(self._folder, self._run_id, self._redactor, mono_origin_ns=self._origin_ns)
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
                recorded=[tape.rpartition("/")[2] for tape in wiring.recorded],
            ),
            tail_bytes=request.tail_bytes,
            raw_logs=request.raw_logs,
            steno_version=__version__,
            env=describe_environment({**request.environ, **self._claims.variables}),
            observer=self._observer.mode if self._observer else NONE,
            unobserved=str(self._unobserved) if self._unobserved else None,
            shim=request.shim,
            name=request.name,
            recorder_pid=os.getpid(),
            uid=os.getuid(),
            gid=os.getgid(),
            scratch=[*map(str, self._repo.shadow_paths if self._repo else ()), *self._claims.scratch],
            intake=self._claims.place,
            max_blob=request.max_blob,
            ignored=[os.fsdecode(path) for path in self._observer.ignored.prefixes()]
            if self._observer
            else None,
            hook_program=describe_hook_program() if self._observer else None,
        )

    def run_command(self) -> None:
        limits = limits_of(os.getpid())
        with defer_signals() as kept:
            launcher = self._launch()
            self._launched = True
            self._load_the_rest()
            with PeriodicFsync(self._spool) as syncing:
                awaited = (
                    self._scope.awaited(launcher, self._request.wait_descendants) if self._scope else None
                )
                loop = Loop(launcher, self._wiring, self._recorder, awaited)
                for number in kept:
                    signal.raise_signal(number)  # now there is somebody to pass it on
                loop.run()
        if syncing.failure is not None:
            self._recorder.gap("sync_failed", f"the disk did not take the spool: {syncing.failure.strerror}")
        # An observer sets limits of its own; a command that sets them is told by it.
        ours = {os.getpid(), *([launcher.pid] if self._observer is None else [])}
        if changed := {
            name for pid in ours for name, limit in limits_of(pid).items() if limit != limits[name]
        }:
            told = f"somebody set limits of the recorder: {', '.join(sorted(changed))}"
            self._recorder.gap("recorder_reached", told)
        with ignore_signals():
            launcher.release()
            if self._scope is not None:
                self._scope.end(self._recorder)
            self._recorder.close_tapes()
        if self._recorder.refused_by_probe is not None:
            self._give_up(self._recorder.refused_by_probe)

    def _load_the_rest(self) -> None:
        """What is needed when the command is over is loaded while it runs, and not before it can start."""
        if not self._is_loading:
            self._is_loading = True
            with_kernel = self._observer is not None
            threading.Thread(target=_load, args=(with_kernel,), name="steno-load", daemon=True).start()

    def _learn(self, value: bytes) -> None:
        """A secret that was typed: masked from now on, here and by whoever recovers the run."""
        self._redactor.learn([value])
        self._secrets.append(value)
        if self._known is None:
            return
        try:
            self._known.add([value])
        except OSError as error:
            self._recorder.gap(
                "sync_failed", f"a typed secret could not be kept for a recovery: {error.strerror}"
            )

    def _give_up(self, probe: str) -> NoReturn:
        self._abandon()
        raise CaptureError(
            f"the command was not run: the eBPF probe that you asked for is not there ({probe})",
            hint=hint_of(probe),
        )

    def _launch(self) -> Launcher:
        request, wiring = self._request, self._wiring
        if not request.opens_ours:
            close_to_others()
        terminal = wiring.terminal.slave if wiring.terminal else None
        job = Launch(
            request.command, str(request.cwd), self._environ, wiring.command, terminal, self._ended_by
        )
        if self._observer is None or self._scope is None:
            self._keys = HeldKeys(request.store)
            return launch(job)
        with Folder(request.store) as store:
            self._key = make_or_read_key(store)
            judgement_cache.allow(store)
        self._keys = HeldKeys(request.store)
        self._folder.make_folder(f"{layout.SPOOL}/{KERNEL}")
        for name in LOGS:
            self._spool.make_empty(name)
        with self._folder.sub(layout.SPOOL) as spool:
            self._known = KnownSecrets(spool, self._key, self._secrets)
        with self._folder.sub(f"{layout.SPOOL}/{KERNEL}") as folder:
            frames = Frames(
                folder.fd,
                self._spool.lock,
                request.store,
                keys_path() if self._keys.are_apart else None,
                self._run_id,
                self._key,
                self._origin_ns,
                request.max_blob,
                request.allow_io_uring,
            )
            launcher = launch_observed(
                job,
                self._observer,
                frames,
                self._scope.for_launch(),
                split=wiring.split_out,
                outputs=[outlet.source for outlet in wiring.outlets],
            )
        self._scope.launched()
        return launcher

    def _keep_kernel_layer(self, observer: Observer) -> None:
        try:
            spool = self._folder.sub(layout.SPOOL)
        except OSError as error:  # the command may have removed the store
            self._recorder.gap("kernel_record_damaged", f"{layout.SPOOL}: {error.strerror}")
            return
        from steno.record.kernel import keep_kernel_layer

        with spool:
            try:
                kept = keep_kernel_layer(
                    spool,
                    self._request.store,
                    self._redactor,
                    self._findings,
                    observer.ignored,
                    max_blob=self._request.max_blob,
                    looked=True,
                    key=self._key,
                )
            except SealError as error:
                self._unsealable = str(error)
                return
        self._observed = kept.event
        if kept.event is not None:
            self._recorder.event(kept.event)
        told = {gap.reason for gap in self._recorder.gaps} & {OUTLIVED.reason}  # by the cgroup, by name
        for reason, detail in kept.gaps:
            if reason not in told:
                self._recorder.gap(reason, detail)

    def _watch_repository(self) -> RepoWatch:
        return RepoWatch(
            self._request.cwd,
            exclude=[self._request.store, *self._request.exclude],
            fallback=self._request.store,
            finder=lambda data: bool(self._redactor.find(data)),
        )

    def _seal(self) -> tuple[Manifest | None, str | None]:
        from steno.bundle.seal import Sweeper, seal

        if self._unsealable is not None:
            return None, self._unsealable
        try:
            return seal(self._folder, self._run_id, Sweeper(self._secrets), self._spool.held), None
        except SealError as error:
            return None, str(error)
        except OSError as error:
            return None, f"the record could not be sealed: {error.strerror}"
        except ValueError as error:  # the command may have written into its own spool
            return None, f"the record could not be sealed, its spool is damaged: {error}"
