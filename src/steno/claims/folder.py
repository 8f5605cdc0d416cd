"""The private folder in which programs of a run tell what they decide and do.

It is in memory where there is room. The command may remove, replace, fill or link what is in it: a log that
is made here is held open, so that what was told before it was removed is not lost. What a killed recorder
left is found by its name and removed when nobody needs it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from steno.bundle.folder import Folder
from steno.bundle.keys import keys_path
from steno.capture.tmpfs import memory_directories, room_in
from steno.claims.logs import MAX_LOG, MAX_PROXIES, TOO_LARGE, LogRead, PolicyLog
from steno.errors import StoreError
from steno.evidence import canonical, kinds, layout
from steno.evidence import intake_names as intake
from steno.evidence.claims import FileKey, ProcessKey
from steno.evidence.ignore_rules import IgnoreRules
from steno.evidence.intake_names import DISTURBED
from steno.evidence.run_id import is_run_id
from steno.redact.redactor import Redactor

PREFIX, ON_DISK = intake.FOLDER_PREFIX, intake.ON_DISK
MEMORY, DISK = "memory", "disk"
LOGS = (intake.HOOKS, intake.SDK)
NOT_REGULAR = "not_a_regular_file"
REMOVED = "removed_or_replaced"
NOT_PRIVATE = "open_to_others"
MODE_CHANGED = "mode_changed"
TOO_MANY = "too_many_logs"
NOT_OURS = "owned_by_another_user"
UNREADABLE = "not_readable"
VARIABLES = (
    intake.RUN_ID,
    intake.FOLDER,
    intake.ORIGIN_NS,
    intake.SDK_LOG,
    intake.SDK_LOG_SCHEMA,
)
_RUN = "run"  # names the folder of the run, for whoever finds this one
_ROOM_NEEDED = 1 << 20
_PRIVATE = 0o700
_BLOCK = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAKE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class IntakeFolder:
    """A folder that is held open; `logs` are the files that were made in it, when we made it ourselves."""

    def __init__(self, path: Path, place: str, fd: int, logs: dict[str, int]) -> None:
        self.path = path
        self.place = place
        self._fd = fd
        self._logs = logs
        self._owner = os.fstat(fd).st_uid

    def environment(self, run_id: str, origin_ns: int) -> dict[str, str]:
        return {
            intake.RUN_ID: run_id,
            intake.FOLDER: str(self.path),
            intake.ORIGIN_NS: str(origin_ns),
            intake.SDK_LOG: str(self.path / intake.SDK),
            intake.SDK_LOG_SCHEMA: intake.SDK_SCHEMA,
        }

    def belongs_to(self, run: Path) -> None:
        """As long as that folder holds a spool, this one is needed."""
        with suppress(OSError):
            fd = os.open(_RUN, _MAKE, 0o600, dir_fd=self._fd)
            try:
                os.write(fd, os.fsencode(run))
            finally:
                os.close(fd)

    def problem(self) -> str | None:
        """What has become of the folder itself."""
        found = os.fstat(self._fd)
        mode = stat.S_IMODE(found.st_mode)
        if found.st_uid != self._owner or mode & ~_PRIVATE:
            return NOT_PRIVATE
        if mode != _PRIVATE:
            return MODE_CHANGED
        return None if self._is_in_its_place() else REMOVED

    def is_silent(self) -> bool:
        """Nobody told anything, and nobody touched what was made for it."""
        try:
            untouched = self.problem() is None and set(os.listdir(self._fd)) == {_RUN, *self._logs}
            return untouched and all(self._is_empty(name, fd) for name, fd in self._logs.items())
        except OSError:
            return False

    def _is_empty(self, name: str, held: int) -> bool:
        found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        return os.path.samestat(found, os.fstat(held)) and found.st_size == 0

    def _is_in_its_place(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), self.path.lstat())
        except OSError:
            return False

    def read(self, name: str) -> LogRead:
        """What was told in a log. One that was replaced has what stood in both."""
        held = self._logs.get(name)
        named = self._read_named(name, held)
        if named is not None and (held is None or (name == intake.SDK and named.problem is None)):
            return named  # an SDK may put a whole new log in the place of the old one
        before = LogRead(b"") if held is None else _read(held)
        if named is None:
            return before
        return LogRead((before.data + named.data)[:MAX_LOG], named.problem or REMOVED, named.file)

    def policy_logs(self) -> Iterator[PolicyLog]:
        """The logs of the proxies, the smallest first: one that was filled hides none of the others."""
        left = MAX_LOG
        for number, (owner, name) in enumerate(self._policy_names()):
            if number == MAX_PROXIES:
                yield PolicyLog(owner, LogRead(b"", TOO_MANY))
                return
            read = self._read_named(name, None, left) or LogRead(b"")
            left -= len(read.data)
            yield PolicyLog(owner, read)

    def _policy_names(self) -> list[tuple[ProcessKey, str]]:
        try:
            names = os.listdir(self._fd)
        except OSError:
            return []
        found = []
        for name in names:
            if (owner := intake.policy_log_owner(name)) is not None:
                with suppress(OSError):
                    size = os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_size
                    found.append((size, owner, name))
        return [(ProcessKey(*owner), name) for _, owner, name in sorted(found)]

    def _read_named(self, name: str, held: int | None, most: int = MAX_LOG) -> LogRead | None:
        """What has the name now; None when it is the log that we hold."""
        try:
            fd = os.open(name, _READ, dir_fd=self._fd)
        except FileNotFoundError:
            return LogRead(b"", REMOVED)
        except OSError as error:
            return LogRead(b"", NOT_REGULAR if error.errno in {errno.ELOOP, errno.ENXIO} else UNREADABLE)
        try:
            found = os.fstat(fd)
            if held is not None and os.path.samestat(os.fstat(held), found):
                return None
            if not stat.S_ISREG(found.st_mode):
                return LogRead(b"", NOT_REGULAR)
            return _read(fd, most) if found.st_uid == self._owner else LogRead(b"", NOT_OURS)
        finally:
            os.close(fd)

    def close(self) -> None:
        for fd in (*self._logs.values(), *([self._fd] if self._fd >= 0 else [])):
            os.close(fd)
        self._logs, self._fd = {}, -1

    def remove(self) -> bool:
        """With all that is in it; one that only has the same name is left alone. False: it is still there."""
        ours = self._fd >= 0 and self._is_in_its_place()
        removed = not ours or self.place != MEMORY or _remove(self.path)  # nobody else does, while we hold it
        self.close()
        return removed


def make_in_memory(run_id: str) -> IntakeFolder | None:
    """None when there is no memory to have it in."""
    for parent in memory_directories():
        with suppress(OSError):
            if room_in(parent) >= _ROOM_NEEDED:
                return _make(parent / f"{PREFIX}{run_id}", MEMORY)
    return None


def make_on_disk(run: Path) -> IntakeFolder:
    return _make(run / layout.SPOOL / ON_DISK, DISK)


def open_left(path: Path, place: str, owner: int) -> IntakeFolder | None:
    """The folder that a killed recorder left; None when it is not there, or not what it made."""
    try:
        fd = os.open(path, _DIRECTORY)
    except OSError:
        return None
    if os.fstat(fd).st_uid != owner:
        os.close(fd)
        return None
    return IntakeFolder(path, place, fd, {})


def ignoring(rules: IgnoreRules, paths: Iterable[Path]) -> IgnoreRules:
    """The same rules, and nothing of these folders."""
    return IgnoreRules([*rules.prefixes(), *map(os.fsencode, paths)])


class LeftFolder(NamedTuple):
    path: Path
    removed: bool


def remove_left() -> Iterator[LeftFolder]:
    """Remove the folders of runs that are over. One whose run may still be recovered is not touched."""
    for parent in memory_directories():
        for path in sorted(parent.glob(f"{PREFIX}*")):
            if is_run_id(path.name.removeprefix(PREFIX)) and _is_left(path):
                yield LeftFolder(path, _remove(path))


def _is_left(path: Path) -> bool:
    found = open_left(path, MEMORY, os.geteuid())
    if found is None:
        return False
    try:
        fcntl.flock(found._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # noqa: SLF001 - the same room
        run = Path(os.fsdecode(found.read(_RUN).data))
    except (OSError, ValueError):
        return False
    finally:
        found.close()
    return run == Path() or not os.path.lexists(run / layout.SPOOL)


def _make(path: Path, place: str) -> IntakeFolder:
    """It has a hidden name until it is locked, so that nobody takes it for one that was left."""
    hidden = path.with_name(f".{path.name}")
    hidden.mkdir(mode=_PRIVATE)
    fd = -1
    logs: dict[str, int] = {}
    try:
        fd = os.open(hidden, _DIRECTORY)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in LOGS:
            logs[name] = os.open(name, _MAKE, 0o600, dir_fd=fd)
        hidden.rename(path)
    except BaseException:
        for each in (*logs.values(), *([fd] if fd >= 0 else [])):
            os.close(each)
        _remove(hidden)
        raise
    return IntakeFolder(path, place, fd, logs)


def _read(fd: int, most: int = MAX_LOG) -> LogRead:
    blocks: list[bytes] = []
    size, file = 0, file_key(fd)
    try:
        while size <= most and (block := os.pread(fd, _BLOCK, size)):
            blocks.append(block)
            size += len(block)
    except OSError:
        return LogRead(b"".join(blocks), UNREADABLE, file)
    data = b"".join(blocks)
    return LogRead(data[:most], TOO_LARGE, file) if size > most else LogRead(data, None, file)


def file_key(fd: int) -> FileKey | None:
    """None: numbers that JSON cannot hold."""
    found = os.fstat(fd)
    fits = max(found.st_dev, found.st_ino) <= canonical.SAFE_INTEGER
    return FileKey(found.st_dev, found.st_ino) if fits else None


def _remove(path: Path) -> bool:
    with suppress(OSError):
        fd = os.open(path, _DIRECTORY)
        try:
            while _thin_out(fd):
                pass
        finally:
            os.close(fd)
        path.rmdir()
    return not os.path.lexists(path)


def _thin_out(fd: int) -> bool:
    """Remove what can be removed, and bring up what is below: a folder may be deeper than any stack or path.

    True: something was done, so that there may be more to do."""
    done = False
    for name in os.listdir(fd):
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                _bring_up(name, fd)
                os.rmdir(name, dir_fd=fd)
            else:
                os.unlink(name, dir_fd=fd)
            done = True
    return done


def _bring_up(name: str, fd: int) -> None:
    below = os.open(name, _DIRECTORY, dir_fd=fd)
    try:
        for each in os.listdir(below):
            with suppress(OSError):
                os.rename(each, os.urandom(16).hex(), src_dir_fd=below, dst_dir_fd=fd)
    finally:
        os.close(below)


class _Recorder(Protocol):
    def event(self, data: kinds.EventData, /) -> None: ...

    def gap(self, reason: str, detail: str, /) -> None: ...


class RunClaims:
    """The claims of a run that is being recorded. `aliases`: variables of others that say what ours do."""

    def __init__(self, run_id: str, shim: str, origin_ns: int, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self._run_id = run_id
        self._shim = shim
        self._origin_ns = origin_ns
        self._intake = make_in_memory(run_id)
        self.place = DISK if self._intake is None else MEMORY
        self.scratch = [] if self._intake is None else [str(self._intake.path)]
        self.sdk_intake: kinds.SdkIntake | None = None  # once they are kept
        self.variables = dict.fromkeys(
            (*VARIABLES, *aliases.values()), ""
        )  # names only: the values differ from run to run

    def open(self, run: Path) -> dict[str, str]:
        """The variables that lead programs of the run to its intake."""
        try:
            if self._intake is None:
                self._intake = make_on_disk(run)
        except OSError as error:
            raise StoreError(
                f"cannot make a folder for claims in {run}: {error.strerror}",
                hint="make room, or choose another place with --store DIR",
            ) from error
        self._intake.belongs_to(run)
        given = self._intake.environment(self._run_id, self._origin_ns)
        return given | {theirs: given[ours] for ours, theirs in self._aliases.items()}

    def ignored(self, rules: IgnoreRules) -> IgnoreRules:
        """What is told to us, and the local keys, are ours: no file of the run, and nobody's to undo."""
        told = None if self._intake is None else self._intake.path
        keys = None if (path := keys_path()) is None else path.resolve()
        return ignoring(rules, [path for path in (told, keys) if path is not None])

    def keep(self, run: Folder, recorder: _Recorder, redactor: Redactor, now_ns: int) -> None:
        try:
            with run.sub(layout.SPOOL) as spool:
                events = self._events(spool, redactor, now_ns)
        except OSError as error:  # the command may have removed the store
            events = [kinds.Gap(DISTURBED, f"what was told could not be kept: {error.strerror}")]
        for event in events:
            if isinstance(event, kinds.Gap):
                recorder.gap(event.reason, event.detail)
                continue
            recorder.event(event)
            if isinstance(event, kinds.SdkIntake):
                self.sdk_intake = event

    def _events(self, spool: Folder, redactor: Redactor, now_ns: int) -> list[kinds.EventData]:
        silent = self._intake is not None and self._intake.is_silent()
        if silent and self._shim in {kinds.ANY_SHIM, kinds.NO_SHIM}:
            with suppress(FileNotFoundError):
                spool.remove_tree(layout.CLAIMS)  # the command may have made one
            return []
        from steno.claims.layers import Heard, keep_claims  # late: in most runs nobody tells anything

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
