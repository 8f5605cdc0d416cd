"""What is there now, seen without following a single link.

In: absolute paths, as bytes. Out: a `Sight` of each: its state, and what stands in the way if one of the
directories above it is none. Every step is opened with O_NOFOLLOW from the descriptor above, so a link that
was planted in the meantime leads nowhere. Never changes anything.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, Protocol

from steno.restore.states import ABSENT, UNKNOWN, Kind, State, kind_of, parts_of

STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NODE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BLOCK = 1 << 18


class Sight(NamedTuple):
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

    def look(self, path: bytes) -> Sight: ...

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

    def look(self, path: bytes) -> Sight:
        try:
            with open_parent(path) as (parent, name):
                return _sight(parent, name)
        except ObstacleError as error:
            return Sight(ABSENT, obstacle=error.path, blocked=error.kind)
        except OSError as error:
            return Sight(UNKNOWN, problem=f"cannot be looked at: {error.strerror}")

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


def _sight(parent: int, name: bytes) -> Sight:
    try:
        with open_node(parent, name) as node:
            found, state = os.fstat(node), state_of_node(node)
    except FileNotFoundError:
        return Sight(ABSENT)
    return Sight(
        state, links=found.st_nlink, touched_ns=found.st_ctime_ns, device=found.st_dev, inode=found.st_ino
    )


def _joined(parts: list[bytes]) -> bytes:
    return b"/" + b"/".join(parts)


def _kind_at(parent: int, name: bytes) -> Kind:
    try:
        return kind_of(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return Kind.UNKNOWN
