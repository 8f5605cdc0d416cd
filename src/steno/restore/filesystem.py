"""Looking at files, renaming them and taking them away, by directories that are opened one below the other.

No name is ever followed through a symbolic link. Nothing is overwritten by a rename, and what is taken away
goes to a trash: a directory of the store, or, on another file system, `.steno-trash-UID` in the highest
directory there in which one can be made. A program that has such a file open goes on writing into it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from steno.restore.states import ABSENT, UNKNOWN, Kind, State, kind_of, parts_of

STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NODE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BLOCK = 1 << 18


class Lookup(NamedTuple):
    """`obstacle` is the first name above the path that is not a directory (`blocked` tells what it is).

    `touched_ns` is when anything about it was last changed, as the kernel says: no program can set it.
    """

    state: State
    links: int = 1
    touched_ns: int = 0
    device: int = 0
    inode: int = 0
    obstacle: bytes | None = None
    blocked: Kind = Kind.ABSENT
    problem: str | None = None


class Tree(Protocol):
    """How a plan sees the file system."""

    def look(self, path: bytes) -> Lookup: ...

    def names(self, directory: bytes) -> list[bytes] | None:
        """The entries of a directory; None if it cannot be read."""

    def holds(self, path: bytes, content: bytes) -> bool | None:
        """Whether a regular file has exactly this content; None if it cannot be read."""


class ObstacleError(Exception):
    """A name on the way to a path is missing, or is not a directory."""

    def __init__(self, path: bytes, kind: Kind) -> None:
        super().__init__(f"{os.fsdecode(path)} is {'missing' if kind is Kind.ABSENT else 'not a directory'}")
        self.path = path
        self.kind = kind


@contextmanager
def open_parent(path: bytes) -> Iterator[tuple[int, bytes]]:
    """The directory that holds a path, reached without following a link, and the last name."""
    *above, name = parts_of(path)
    fd = os.open("/", STEP)
    try:
        for number, part in enumerate(above, 1):
            try:
                below = os.open(part, STEP, dir_fd=fd)
            except FileNotFoundError:
                raise ObstacleError(_joined(above[:number]), Kind.ABSENT) from None
            except OSError as error:
                if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
                    raise
                raise ObstacleError(_joined(above[:number]), _kind_at(fd, part)) from None
            os.close(fd)
            fd = below
        yield fd, name
    finally:
        os.close(fd)


@contextmanager
def open_node(parent: int, name: bytes) -> Iterator[int]:
    """The thing itself, whatever it is: not opened for reading, and if it is a link, the link."""
    fd = os.open(name, _NODE, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def state_of_node(node: int) -> State:
    found = os.fstat(node)
    kind = kind_of(found.st_mode)
    return State(
        kind=kind,
        mode=stat.S_IMODE(found.st_mode),
        mtime_ns=found.st_mtime_ns,
        size=found.st_size,
        uid=found.st_uid,
        gid=found.st_gid,
        target=os.readlink(b"", dir_fd=node) if kind is Kind.SYMLINK else b"",
    )


class FileSystem:
    """The tree that is really there."""

    def look(self, path: bytes) -> Lookup:
        try:
            with open_parent(path) as (parent, name):
                return _sight(parent, name)
        except ObstacleError as error:
            return Lookup(ABSENT, obstacle=error.path, blocked=error.kind)
        except OSError as error:
            return Lookup(UNKNOWN, problem=f"cannot be looked at: {error.strerror}")

    def names(self, directory: bytes) -> list[bytes] | None:
        try:
            with open_parent(directory) as (parent, name):
                fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            try:
                return sorted(os.fsencode(entry) for entry in os.listdir(fd))
            finally:
                os.close(fd)
        except (OSError, ObstacleError):
            return None

    def holds(self, path: bytes, content: bytes) -> bool | None:
        try:
            with open_parent(path) as (parent, name):
                fd = os.open(name, READ, dir_fd=parent)
            with os.fdopen(fd, "rb") as file:
                found = os.fstat(fd)
                if not stat.S_ISREG(found.st_mode) or found.st_size != len(content):
                    return False
                return is_content(file, content)
        except (OSError, ObstacleError):
            return None


def is_content(file: BinaryIO, content: bytes) -> bool:
    """Whether this, from where it is read, is exactly that content."""
    at = 0
    while block := file.read(_BLOCK):
        if content[at : at + len(block)] != block:
            return False
        at += len(block)
    return at == len(content)


def _sight(parent: int, name: bytes) -> Lookup:
    try:
        with open_node(parent, name) as node:
            found, state = os.fstat(node), state_of_node(node)
    except FileNotFoundError:
        return Lookup(ABSENT)
    return Lookup(
        state, links=found.st_nlink, touched_ns=found.st_ctime_ns, device=found.st_dev, inode=found.st_ino
    )


def _joined(parts: list[bytes]) -> bytes:
    return b"/" + b"/".join(parts)


def _kind_at(parent: int, name: bytes) -> Kind:
    try:
        return kind_of(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return Kind.UNKNOWN


_NOREPLACE = 1
_EXCHANGE = 2
_UNABLE = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}
_SUFFIX = b".steno-exchange"


def rename_to_free(parent: int, name: bytes, new_parent: int, new_name: bytes) -> None:
    if _renameat2(parent, name, new_parent, new_name, _NOREPLACE):
        return
    with suppress(FileNotFoundError):
        os.stat(new_name, dir_fd=new_parent, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(name, new_name, src_dir_fd=parent, dst_dir_fd=new_parent)


def exchange(parent: int, name: bytes, other_parent: int, other_name: bytes) -> None:
    if _renameat2(parent, name, other_parent, other_name, _EXCHANGE):
        return
    between = name + _SUFFIX
    rename_to_free(parent, name, parent, between)
    try:
        rename_to_free(other_parent, other_name, parent, name)
    except OSError:
        rename_to_free(parent, between, parent, name)
        raise
    rename_to_free(parent, between, other_parent, other_name)


def _renameat2(parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> bool:
    """Whether it is done; no: it cannot be done this way here."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if call(parent, name, new_parent, new_name, ctypes.c_uint(flags)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number))


TRASH = "trash"  # in the store
_MODE = 0o700
_MOST_TRIES = 10_000


class Trash:
    def __init__(self, home: Path, label: str) -> None:
        """`label` names this undo: all that it takes away lies in one directory of that name."""
        self._home = home
        self._label = os.fsencode(label)
        self.places: list[bytes] = []  # directories that got something, for the user

    def take(self, parent: int, name: bytes, path: bytes) -> bytes:
        """Move what is at `name`; `path` is what it was called. On `OSError` it is still there."""

        def move(directory: int, free: bytes) -> None:
            rename_to_free(parent, name, directory, free)

        try:
            return self._place(path, os.fsencode(self._home), move)
        except OSError as error:
            if error.errno not in {
                errno.EXDEV,
                errno.EACCES,
                errno.EROFS,
                errno.EPERM,
                errno.ENOSPC,
                errno.EBUSY,
            }:
                raise
        return self._place(path, _on_the_same_device(parent, path), move)

    def put(self, content: bytes, path: bytes) -> bytes:
        """A content that was at `path` once, and is nowhere else."""

        def write(directory: int, name: bytes) -> None:
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory)
            with os.fdopen(fd, "wb") as file:
                file.write(content)

        return self._place(path, os.fsencode(self._home), write)

    def _place(self, path: bytes, home: bytes, put: Callable[[int, bytes], None]) -> bytes:
        """`put` is given a directory and a name that may be free; where it is not: `FileExistsError`."""
        place = home + b"/" + self._label
        Path(os.fsdecode(home)).mkdir(_MODE, parents=True, exist_ok=True)
        _check_ours(home)
        directory = b"/".join([place, *parts_of(path)[:-1]])
        wanted = parts_of(path)[-1]
        for number in range(1, _MOST_TRIES):
            free = wanted if number == 1 else wanted + b"~%d" % number
            try:
                Path(os.fsdecode(directory)).mkdir(_MODE, parents=True, exist_ok=True)
                fd = os.open(directory, STEP)
            except (FileExistsError, NotADirectoryError):  # a file of that name was put here before
                directory += b"~"
                continue
            try:
                put(fd, free)
            except FileExistsError:
                continue
            finally:
                os.close(fd)
            if place not in self.places:
                self.places.append(place)
            return directory + b"/" + free
        raise OSError(errno.EEXIST, "the trash has no free name for it")


def _check_ours(home: bytes) -> None:
    """Nobody else may look into it, or lead us elsewhere by a link."""
    found = os.lstat(home)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, f"the trash {os.fsdecode(home)} is not a directory of this user")
    if stat.S_IMODE(found.st_mode) != _MODE:
        Path(os.fsdecode(home)).chmod(_MODE)


def _hide_from_git(home: bytes) -> None:
    """It may lie in somebody's repository."""
    with suppress(FileExistsError):
        fd = os.open(home + b"/.gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(b"*\n")


def _on_the_same_device(parent: int, path: bytes) -> bytes:
    device = os.fstat(parent).st_dev
    name = b".steno-trash-%d" % os.geteuid()
    above = parts_of(path)[:-1]
    last: OSError = OSError(errno.EXDEV, "there is no place for a trash on its file system")
    for count in range(len(above) + 1):
        directory = b"/" + b"/".join(above[:count])
        home = directory.rstrip(b"/") + b"/" + name
        try:
            with open_parent(home) as (fd, _):
                if os.fstat(fd).st_dev != device:
                    continue
                with suppress(FileExistsError):
                    os.mkdir(name, _MODE, dir_fd=fd)
                _check_ours(home)
                _hide_from_git(home)
                return home
        except OSError as error:
            last = error
        except ObstacleError:
            break
    raise last
