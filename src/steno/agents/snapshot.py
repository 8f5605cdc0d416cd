"""The regular files of a run directory at one moment.

In: a directory held open, and what an earlier look found there. Out: size, time and digest of every regular
file in it, by relative path; `.audit` is ours and is left out. What cannot be read, or changes while it is
read, is told with the reason. A file that is gone before it could be read was not there. One that the kernel
shows to be the same since the earlier look is not read again. Never follows a link, never opens a FIFO or a
device, never holds more than a block of a file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from steno.bundle.folder import BLOCK, Folder, NotRegularError
from steno.contracts.agent_audit.changes import FileState, Snapshot, spelled
from steno.contracts.agent_audit.streams import AUDIT
from steno.errors import StoreError
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


class Look(NamedTuple):
    files: Snapshot
    at_rest: Mapping[str, Identity] = {}  # of files that had not changed for a while when they were read

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
    at_rest: Identity | None = None


def look(
    directory: Folder,
    ignored: Sequence[str] = (AUDIT,),
    *,
    earlier: Look | None = None,
    on_seen: OnSeen = lambda _files, _bytes: None,
) -> Look:
    looking = _Looking(earlier or Look({}), on_seen)
    files: Snapshot = {}
    at_rest: dict[str, Identity] = {}
    waiting = [""]
    while waiting:
        for path, state, identity in looking.inside(directory, waiting.pop(), ignored):
            if state is None:
                waiting.append(path)
                continue
            name = spelled(path)
            files[name] = state
            if identity is not None:
                at_rest[name] = identity
    return Look(dict(sorted(files.items())), at_rest)


class _Looking:
    def __init__(self, earlier: Look, on_seen: OnSeen) -> None:
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
        if self._earlier.at_rest.get(name) != identity:
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
