"""The regular files of a run directory at one moment: size, time and digest, without secrets in their names.

`.audit` is ours and is left out. What cannot be read, or changes while it is read, is told with the reason;
one that the kernel shows to be the same since the earlier look is not read again. A look that takes long
tells how far it is, and can be ended. Never follows a link, never opens a FIFO or a device.
"""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import msgspec

from steno.bundle.folder import BLOCK, Folder, NotRegularError
from steno.contracts.agent_audit.changes import Diff, FileState, Snapshot, spelled
from steno.contracts.agent_audit.meta import Known
from steno.contracts.agent_audit.streams import AUDIT
from steno.errors import StoreError
from steno.redact.findings import Findings
from steno.redact.redactor import PLACEHOLDER, Redactor
from steno.text import units
from steno.text.units import counted

CHANGED_WHILE_READ = "CHANGED_WHILE_READ"
AT_REST_NS = 2_000_000_000  # clocks of file systems are coarse: of a younger file nobody knows
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ELOOP}  # or became something else
_MS = 1_000_000
_TRIES = 3

OnSeen = Callable[[int, int], None]  # so many more files, so many more bytes


class Identity(NamedTuple):
    """While all of it is the same, so is the content: nobody but the kernel sets the time of the change."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Identity:
        return cls(seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


class ScannedFiles(NamedTuple):
    files: Snapshot
    unchanged_since: Mapping[
        str, Identity
    ] = {}  # of files that had not changed for a while when they were read

    @property
    def unread(self) -> int:
        return sum(state.error is not None for state in self.files.values())

    @property
    def told(self) -> str:
        files = counted(len(self.files), "file")
        return f"{files}, {self.unread} of them not to be read" if self.unread else files


class _Found(NamedTuple):
    path: str
    state: FileState | None  # None: a directory to look into
    unchanged_since: Identity | None = None


def look(
    directory: Folder,
    ignored: Sequence[str] = (AUDIT,),
    *,
    earlier: ScannedFiles | None = None,
    on_seen: OnSeen = lambda _files, _bytes: None,
) -> ScannedFiles:
    looking = _Scanner(earlier or ScannedFiles({}), on_seen)
    files: Snapshot = {}
    unchanged_since: dict[str, Identity] = {}
    waiting = [""]
    while waiting:
        for path, state, identity in looking.inside(directory, waiting.pop(), ignored):
            if state is None:
                waiting.append(path)
                continue
            name = spelled(path)
            files[name] = state
            if identity is not None:
                unchanged_since[name] = identity
    return ScannedFiles(dict(sorted(files.items())), unchanged_since)


class _Scanner:
    def __init__(self, earlier: ScannedFiles, on_seen: OnSeen) -> None:
        self._earlier = earlier
        self._on_seen = on_seen

    def inside(self, directory: Folder, path: str, ignored: Sequence[str]) -> Iterator[_Found]:
        """What is in one directory."""
        try:
            with directory.sub(path) if path else nullcontext(directory) as here:
                for name in here.names():
                    inner = f"{path}/{name}" if path else name
                    if inner not in ignored and (found := self._entry(here, name, inner)) is not None:
                        yield found
        except OSError as error:
            if not path:
                raise StoreError(
                    f"cannot read {directory.path}: {error.strerror}", hint="check its permissions"
                ) from error
            if error.errno not in _GONE:
                yield _Found(f"{path}/", _unread(0, 0, _code(error)))

    def _entry(self, here: Folder, name: str, inner: str) -> _Found | None:
        try:
            seen = os.stat(name, dir_fd=here.fd, follow_symlinks=False)
        except OSError:
            return None
        if stat.S_ISDIR(seen.st_mode):
            return _Found(inner, None)
        if not stat.S_ISREG(seen.st_mode):
            return None
        self._on_seen(1, 0)
        return self._as_before(inner, seen) or self._as_it_is(here, name, inner, seen)

    def _as_before(self, inner: str, seen: os.stat_result) -> _Found | None:
        name, identity = spelled(inner), Identity.of(seen)
        if self._earlier.unchanged_since.get(name) != identity:
            return None
        return _Found(inner, self._earlier.files[name], identity)

    def _as_it_is(self, here: Folder, name: str, inner: str, seen: os.stat_result) -> _Found | None:
        try:
            for _ in range(_TRIES):
                if (found := self._read(here, name, inner)) is not None:
                    return found
        except NotRegularError:
            return None
        except OSError as error:
            if error.errno in _GONE:
                return None
            return _Found(inner, _unread(seen.st_size, seen.st_mtime_ns, _code(error)))
        return _Found(inner, _unread(seen.st_size, seen.st_mtime_ns, CHANGED_WHILE_READ))

    def _read(self, here: Folder, name: str, inner: str) -> _Found | None:
        """None when somebody wrote to it meanwhile."""
        fd = here.open(name)
        try:
            seen = os.fstat(fd)
            now = time.time_ns()
            digest = hashlib.sha256()
            left = seen.st_size  # whoever still writes to it must not keep us
            while left > 0 and (block := os.read(fd, min(BLOCK, left))):
                digest.update(block)
                left -= len(block)
                self._on_seen(0, len(block))
            identity = Identity.of(seen)
            if Identity.of(os.fstat(fd)) != identity:
                return None
        finally:
            os.close(fd)
        state = FileState(size=seen.st_size, mtime_ms=seen.st_mtime_ns // _MS, sha256=digest.hexdigest())
        return _Found(inner, state, identity if identity.ctime_ns + AT_REST_NS <= now else None)


def _unread(size: int, mtime_ns: int, why: str) -> FileState:
    return FileState(size=size, mtime_ms=mtime_ns // _MS, sha256=None, error=why)


def _code(error: OSError) -> str:
    return errno.errorcode.get(error.errno or errno.EIO, str(error.errno))


PATIENCE = 0.5  # seconds, before there is a word and between two
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Tell = Callable[[str | None], None]  # None: there is nothing to tell any more


class LookEndedError(StoreError):
    """The user did not want to wait."""


class SnapshotProgress:
    def __init__(self, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        # What the user ignores, as nohup(1) does, is ignored here as well.
        self._ending = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]

    def look(self, directory: Folder, earlier: ScannedFiles | None = None) -> ScannedFiles:
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


class Masking:
    def __init__(self, environ: Mapping[str, str], command: Sequence[str]) -> None:
        self.redactor = Redactor(findings=Findings())
        self.redactor.learn(self.redactor.secrets_in_env(environ))
        self.redactor.learn(self.redactor.secrets_in_argv(command))
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def snapshot(self, found: Snapshot) -> Snapshot:
        name = self._naming(found)
        return {name(path): state for path, state in found.items()}

    def diff(self, found: Diff) -> Diff:
        parts = (found.created, found.modified, found.deleted, found.unreadable)
        name = self._naming(path for part in parts for path in part)
        return Diff(*(sorted(map(name, part)) for part in parts))

    def known(self, known: Known) -> Known:
        selector, text = known.selector, self.redactor.text
        return msgspec.structs.replace(
            known,
            selector=None if selector is None else text(selector, "selector"),
            steps=tuple(self.redactor.tree(dict(step), "steps") for step in known.steps),
            skills=tuple(text(name, "skills") for name in known.skills),
        )

    def error(self, error: str | None) -> str | None:
        return None if error is None else self.redactor.text(error, "error")

    def _naming(self, names: Iterable[str]) -> Callable[[str], str]:
        """Most directories have no name that is worth a closer look."""
        everything = "\n".join(names)
        if PLACEHOLDER not in everything and self.redactor.is_clean(everything.encode()):
            return str
        return self._name

    def _name(self, name: str) -> str:
        if name in self._given:
            return self._given[name]
        masked = self.redactor.text(name, "names")
        if masked == name and PLACEHOLDER not in name:
            return name
        numbered, number = masked, 1
        while numbered in self._taken:
            number += 1
            numbered = f"{masked}~{number}"
        self._taken.add(numbered)
        self._given[name] = numbered
        return numbered
