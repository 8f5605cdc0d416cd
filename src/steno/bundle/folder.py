"""One directory, held open, whose files are reached without following a single link.

The observed command and whoever sent us a bundle may have planted links, FIFOs or huge files; every step of a
path is opened with O_NOFOLLOW from the descriptor above, and what is not a regular file is refused before it
is read. New directories are 0700, new files 0600.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

BLOCK = 1 << 18
TEMPORARY = ".sealing"  # how the name of a file ends until it is whole
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 8


class NotRegularError(OSError):
    """A name is there, but it is a link, a directory or a special file."""


class Entry(NamedTuple):
    path: str
    regular: bool
    size: int


class Folder:
    def __init__(self, path: Path, *, follow: bool = True) -> None:
        """The folder itself may be reached through a link (a user's choice); nothing below it may."""
        self.path = path
        self._fd = os.open(path, _DIRECTORY & ~os.O_NOFOLLOW if follow else _DIRECTORY)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def fd(self) -> int:
        """For a program of ours that writes here itself."""
        return self._fd

    @property
    def has_a_name(self) -> bool:
        """False: it was removed, and nothing can be put into it any more."""
        return os.fstat(self._fd).st_nlink > 0

    def out_of_reach(self) -> str | None:
        """Why its path does not lead to it; None when it does."""
        try:
            there = self.path.stat()
        except OSError as error:
            return error.strerror
        return None if os.path.samestat(there, os.fstat(self._fd)) else "something else is there"

    def where_it_is(self) -> Path:
        """Where the kernel says that it is, whatever became of the path by which it was opened."""
        return Path(f"/proc/self/fd/{self._fd}").readlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def sub(self, path: str) -> Folder:
        below = Folder.__new__(Folder)
        below.path = self.path / path
        below._fd = self._open_directory(path)  # noqa: SLF001 - the same class
        return below

    def make_folder(self, path: str) -> None:
        with self._parent(path) as (parent, name):
            os.mkdir(name, 0o700, dir_fd=parent)

    def make_folders(self, path: str) -> None:
        """That one and those above it, where they are missing."""
        with self._parent(path, make=True) as (parent, name), suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)

    def create(self, path: str, *, append: bool = False) -> int:
        """A new file that nobody else made; missing directories above it are made too."""
        with self._parent(path, make=True) as (parent, name):
            return os.open(name, _CREATE | (os.O_APPEND if append else 0), 0o600, dir_fd=parent)

    def open(self, path: str, *, write: bool = False) -> int:
        flags = (_READ & ~os.O_RDONLY) | (os.O_RDWR if write else os.O_RDONLY)
        with self._parent(path) as (parent, name):
            try:
                fd = os.open(name, flags, dir_fd=parent)
            except OSError as error:
                if error.errno in {errno.ELOOP, errno.ENXIO}:
                    raise NotRegularError(error.errno, "not a regular file", path) from None
                raise
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotRegularError(errno.EINVAL, "not a regular file", path)
        return fd

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        fd = self.open(path)
        try:
            os.lseek(fd, start, os.SEEK_SET)
            while block := os.read(fd, BLOCK):
                yield block
        finally:
            os.close(fd)

    def read_all(self, path: str, limit: int) -> bytes:
        """The whole file, if it is no longer than `limit`."""
        blocks: list[bytes] = []
        left = limit
        for block in self.read(path):
            blocks.append(block)
            left -= len(block)
            if left < 0:
                raise OSError(errno.EFBIG, f"longer than {limit} bytes", path)
        return b"".join(blocks)

    def size(self, path: str) -> int:
        return self.status(path).st_size

    def status(self, path: str) -> os.stat_result:
        """What is there, without opening it."""
        with self._parent(path) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)

    def has(self, path: str) -> bool:
        """Whether a regular file of that name is there."""
        try:
            with self._parent(path) as (parent, name):
                return stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def has_folder(self, path: str) -> bool:
        try:
            os.close(self._open_directory(path))
        except OSError:
            return False
        return True

    def replace(self, temporary: str, path: str) -> None:
        with self._parent(temporary) as (source, old), self._parent(path, make=True) as (target, new):
            os.replace(old, new, src_dir_fd=source, dst_dir_fd=target)

    def link(self, path: str, new_path: str) -> None:
        with self._parent(path) as (source, old), self._parent(new_path, make=True) as (target, new):
            os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)

    def remove(self, path: str) -> None:
        with self._parent(path) as (parent, name):
            os.unlink(name, dir_fd=parent)

    def remove_tree(self, path: str) -> None:
        """Remove whatever has that name, however deep; links are removed, never followed."""
        try:
            below = self._writable(path)
        except NotADirectoryError:
            self.remove(path)
            return
        with below:
            while names := below.names():
                for name in names:
                    below._remove_level(name)  # noqa: SLF001 - the same class
        with self._parent(path) as (parent, name):
            os.rmdir(name, dir_fd=parent)

    def _remove_level(self, name: str) -> None:
        """Remove a file, or one directory; the directories in it move up beside it."""
        try:
            below = self._writable(name)
        except NotADirectoryError:
            self.remove(name)
            return
        with below:
            for inner in below.names():
                try:
                    below._writable(inner).close()  # noqa: SLF001 - a directory that moves is written to
                except NotADirectoryError:
                    below.remove(inner)
                else:
                    os.rename(inner, os.urandom(8).hex(), src_dir_fd=below._fd, dst_dir_fd=self._fd)  # noqa: SLF001
        os.rmdir(name, dir_fd=self._fd)

    def _writable(self, path: str) -> Folder:
        """A directory below, made ours to empty: whoever filled it may have taken our rights to it."""
        with self._parent(path) as (parent, name):
            try:
                held = os.open(name, _DIRECTORY | os.O_PATH, dir_fd=parent)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None
                raise
            try:
                if os.fstat(held).st_mode & stat.S_IRWXU != stat.S_IRWXU:
                    os.chmod(f"/proc/self/fd/{held}", stat.S_IRWXU)  # noqa: PTH101 - by its descriptor
            finally:
                os.close(held)
        return self.sub(path)

    def names(self) -> list[str]:
        return sorted(os.listdir(self._fd))

    def entries(self) -> Iterator[Entry]:
        """Everything that is not a directory, and every empty directory, below this folder."""
        yield from self._entries("", 0)

    def sync(self) -> None:
        os.fsync(self._fd)

    def _entries(self, prefix: str, depth: int) -> Iterator[Entry]:
        names = sorted(os.listdir(self._fd))
        if prefix and not names:
            yield Entry(prefix.rstrip("/"), regular=False, size=0)
        for name in names:
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            path = prefix + name
            if stat.S_ISDIR(found.st_mode) and depth < _MAX_DEPTH:
                try:
                    below = self.sub(name)
                except PermissionError:  # whoever put it there did not want it to be looked into
                    yield Entry(path, regular=False, size=0)
                    continue
                with below:
                    yield from below._entries(path + "/", depth + 1)  # noqa: SLF001 - the same class
            else:
                yield Entry(path, stat.S_ISREG(found.st_mode), found.st_size)

    def _open_directory(self, path: str) -> int:
        with self._parent(path) as (parent, name):
            return os.open(name, _DIRECTORY, dir_fd=parent)

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        *above, name = _parts(path)
        fd = os.dup(self._fd)
        try:
            for part in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=fd)
                below = os.open(part, _DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd, name
        finally:
            os.close(fd)


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise ValueError(f"not a plain relative path: {path!r}")
    return parts


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
