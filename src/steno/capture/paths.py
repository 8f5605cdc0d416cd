"""The last look at every path that the command touched: its state, and its content where it is kept.

Every component is opened without following a link, so that nothing can be put in the way of a look.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from steno.capture.procfs import mounts
from steno.evidence import wire
from steno.evidence.ignore_rules import IgnoreRules, git_directory, is_plain

HELD = 16
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Directories:
    """The way down to the directory that was asked for last."""

    def __init__(self) -> None:
        self._names: list[bytes] = []
        self._fds = [os.open(b"/", _STEP)]  # one for the root and one for each of the first names
        self._deep = -1  # the end of the way, when it is longer than what is held

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._forget(0)
        os.close(self._fds.pop())

    def above(self, path: bytes) -> tuple[int, bytes]:
        """Raises OSError: NotADirectoryError also for a link, whatever it points to."""
        *names, name = path.split(b"/")[1:]
        if names != self._names:
            self._go(names)
        return (self._deep if self._deep >= 0 else self._fds[-1]), name

    def _go(self, names: list[bytes]) -> None:
        same = 0
        for old, new in zip(self._names, names, strict=False):
            if old != new:
                break
            same += 1
        self._forget(min(same, len(self._fds) - 1))
        for name in names[len(self._names) :]:
            fd = os.open(name, _STEP, dir_fd=self._deep if self._deep >= 0 else self._fds[-1])
            self._keep(fd)
            self._names.append(name)

    def _keep(self, fd: int) -> None:
        if len(self._fds) <= HELD:
            self._fds.append(fd)
            return
        if self._deep >= 0:
            os.close(self._deep)
        self._deep = fd

    def _forget(self, depth: int) -> None:
        """Keep the first `depth` names, all of which have a descriptor of their own."""
        if self._deep >= 0:
            os.close(self._deep)
            self._deep = -1
        while len(self._fds) - 1 > depth:
            os.close(self._fds.pop())
        del self._names[depth:]


def by_directory(path: bytes) -> bytes:
    """A sort key: what lies in a directory stays together."""
    return path.replace(b"/", b"\0")


_LINK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_TYPES = {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}


class Look(Protocol):
    """What is known of a path from calls: what was found there first, and what they are of."""

    @property
    def first(self) -> wire.State | None: ...
    @property
    def is_changed(self) -> bool: ...
    @property
    def is_removed(self) -> bool: ...
    @property
    def is_below_mount(self) -> bool: ...


class FileState(NamedTuple):
    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int
    gid: int
    nlink: int
    target: bytes = b""


class FinalState(NamedTuple):
    """The end of a path. Without a state it is absent, or (`known` false) nobody may look."""

    state: FileState | None
    known: bool = True
    parent_gone: bool = False  # a directory above is none any more


_NAMED_BY_HEAD = re.compile(rb"ref: refs/|[0-9a-f]{40}")
_NAMED_BY_FILE = re.compile(rb"gitdir: ")
_LONGEST_HEAD = 4096
NOT_LOOKED = FinalState(None, known=False)


def recorded_paths(
    looks: Mapping[bytes, Look], rules: IgnoreRules, store: Path, *, looked: bool = True
) -> dict[bytes, FinalState]:
    """The recorded paths, in an order that keeps directories together. `looked` false: it is too late."""
    ours = IgnoreRules({os.fsencode(os.path.realpath(store)), os.fsencode(os.path.abspath(store))})  # noqa: PTH100
    ruined = _ruined(looks)
    rules = rules.without(entry for entry in rules.irreplaceable() if _is_removed(looks.get(entry)))
    wanted = [
        path
        for path in looks
        if is_plain(path)
        and not rules.names(path)
        and not ours.names(path)
        and ((git := git_directory(path)) is None or git in ruined)
    ]
    wanted.sort(key=by_directory)
    seen: dict[bytes, FinalState] = {}
    with Directories() as directories:
        observer = _Observer(directories)
        for path in wanted:
            found = observer.look(path) if looked else NOT_LOOKED
            if observer.is_recorded(path, looks[path], found):
                seen[path] = found
    return seen


def differs(before: wire.State | None, after: FileState | None) -> bool:
    """Whether two looks at a path show different things."""
    if before is None or after is None:
        return before is not None or after is not None
    return before[:6] != after[:6]


def _ruined(looks: Mapping[bytes, Look]) -> set[bytes]:
    """The `.git` of repositories that the run removed, or left as none; other changes there are git's."""
    changed = {
        git
        for path, look in looks.items()
        if look.is_changed and look.first is not None and (git := git_directory(path)) is not None
    }
    ruined = {git for git in changed if _is_removed(looks.get(git)) or _lacks_a_part(git, looks)}
    emptied = {git_directory(path) or b"" for path, look in looks.items() if _is_emptied_object(path, look)}
    return ruined | (changed & emptied) | {git for git in changed if not _is_repository(git)}


def _is_removed(look: Look | None) -> bool:
    """Also one that was made anew."""
    return look is not None and look.is_removed


def _lacks_a_part(git: bytes, looks: Mapping[bytes, Look]) -> bool:
    """Without its objects or its branches it is no repository to git, either."""
    parts = (git + b"/objects", git + b"/refs")
    return any(_is_removed(looks.get(part)) and not os.path.isdir(part) for part in parts)  # noqa: PTH112


def _is_emptied_object(path: bytes, look: Look) -> bool:
    """Git never empties one."""
    if not look.is_changed or look.first is None or not look.first.size or b"/.git/objects/" not in path:
        return False
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _is_repository(git: bytes) -> bool:
    """As git asks first: a HEAD that names something; or the file of a worktree, which names a repository."""
    for path, begins in ((git + b"/HEAD", _NAMED_BY_HEAD), (git, _NAMED_BY_FILE)):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            readable = os.fstat(fd).st_mode & stat.S_IRUSR  # by its owner: root reads everything
            if readable and begins.match(os.read(fd, _LONGEST_HEAD)):
                return True
        except IsADirectoryError:
            continue
        finally:
            os.close(fd)
    return False


class _Observer:
    def __init__(self, directories: Directories) -> None:
        self._directories = directories
        self._uid = os.getuid()
        self._groups = {os.getgid(), *os.getgroups()}

    def look(self, path: bytes) -> FinalState:
        try:
            above, name = self._directories.above(path)
        except FileNotFoundError:
            return FinalState(None)
        except NotADirectoryError:
            return FinalState(None, parent_gone=True)
        except OSError:
            return NOT_LOOKED
        try:
            found = os.stat(name or b".", dir_fd=above, follow_symlinks=False)
            return FinalState(_read_link(above, name) if stat.S_ISLNK(found.st_mode) else _state(found))
        except FileNotFoundError:
            return FinalState(None)
        except OSError:
            return NOT_LOOKED

    def is_recorded(self, path: bytes, look: Look, found: FinalState) -> bool:
        states = [state for state in (look.first, found.state) if state is not None]
        if look.is_below_mount:  # a name of several files, of which the look at the end shows one
            return True
        if not states:
            return look.is_removed or not found.parent_gone
        if not any(stat.S_IFMT(state.mode) in _TYPES for state in states):
            return False
        if look.is_changed and found.known and differs(look.first, found.state):
            return True
        if look.first is not None and not self._is_foreign(look.first):
            return True
        return found.state is not None and self._is_ours(path, found.state)

    def _is_foreign(self, before: wire.State) -> bool:
        """By its bits alone: the file may be another one by now."""
        if self._uid in {0, before.uid}:
            return False
        bit = stat.S_IWGRP if before.gid in self._groups else stat.S_IWOTH
        return stat.S_ISLNK(before.mode) or not before.mode & bit

    def _is_ours(self, path: bytes, found: FileState) -> bool:
        if found.uid == self._uid:
            return True
        try:
            above, name = self._directories.above(path)
            # The bits of a link mean nothing: who may write to its directory may change it.
            asked = b"." if stat.S_ISLNK(found.mode) else name or b"."
            return os.access(asked, os.W_OK, dir_fd=above, follow_symlinks=False)
        except OSError:
            return False


def _state(found: os.stat_result, target: bytes = b"") -> FileState:
    return FileState(
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_mode,
        found.st_uid,
        found.st_gid,
        found.st_nlink,
        target,
    )


def _read_link(above: int, name: bytes) -> FileState:
    """The link and its target by one descriptor, so that they belong together."""
    fd = os.open(name, _LINK, dir_fd=above)
    try:
        found = os.fstat(fd)
        return _state(found, os.readlink(b"", dir_fd=fd) if stat.S_ISLNK(found.st_mode) else b"")
    finally:
        os.close(fd)


TOO_LARGE, UNREADABLE, CHANGING = "too_large", "unreadable", "changing"
_PROBE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOUNTS = Path("/proc/self/mountinfo")
# Reading a file of these may wait for ever, or do something.
_MADE_UP = frozenset(
    b"autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts efivarfs fusectl mqueue nsfs proc pstore"
    b" securityfs selinuxfs sysfs tracefs".split()
)


class Copy(NamedTuple):
    """`why` is empty for a whole content. One that changed while it was read has both."""

    data: bytes | None
    why: str = ""


class Contents:
    def __init__(self, directories: Directories, largest: int) -> None:
        self._directories = directories
        self._largest = largest
        self._made_up = _devices_of(_MADE_UP)

    def copy(self, path: bytes, seen: FileState) -> Copy:
        if seen.dev in self._made_up:
            return Copy(None, UNREADABLE)
        if seen.size > self._largest:
            return Copy(None, TOO_LARGE)
        try:
            above, name = self._directories.above(path)
            probe = os.open(name, _PROBE, dir_fd=above)
            try:
                return _copy(probe, seen)
            finally:
                os.close(probe)
        except FileNotFoundError:
            return Copy(None, CHANGING)
        except (OSError, MemoryError):
            return Copy(None, UNREADABLE)


def _copy(probe: int, seen: FileState) -> Copy:
    found = os.fstat(probe)
    if not stat.S_ISREG(found.st_mode) or (found.st_dev, found.st_ino) != (seen.dev, seen.ino):
        return Copy(None, CHANGING)
    fd = _reopened(probe)
    try:
        return _read(fd, seen)
    finally:
        os.close(fd)


def _reopened(probe: int) -> int:
    path = f"/proc/self/fd/{probe}"
    try:
        return os.open(path, _READ | os.O_NOATIME)
    except PermissionError:  # only the owner may leave the time of access as it is
        return os.open(path, _READ)


def _read(fd: int, seen: FileState) -> Copy:
    pieces: list[bytes] = []
    left = seen.size
    while left and (piece := os.read(fd, left)):
        pieces.append(piece)
        left -= len(piece)
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    now = os.fstat(fd)
    same = (now.st_size, now.st_mtime_ns, now.st_ctime_ns) == (seen.size, seen.mtime_ns, seen.ctime_ns)
    return Copy(data, "" if same and not left else CHANGING)


def _devices_of(kinds: frozenset[bytes]) -> frozenset[int]:
    with suppress(OSError):
        return frozenset(one.device for one in mounts(_MOUNTS.read_bytes()) if one.kind in kinds)
    return frozenset()
