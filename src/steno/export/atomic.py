"""Files and directories written whole: they appear under their names when finished, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from steno.bundle.folder import Folder, write_all
from steno.errors import BadRequestError, StoreError

_NO_LINKS_HERE = {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR}


class Placed(NamedTuple):
    bytes: int
    sha256: str


def place_tree(directory: Path, below: str, files: Mapping[str, Iterable[bytes]]) -> Path:
    """Write `files` as the directory `below` (a relative path) in `directory`."""
    above, _, name = below.rpartition("/")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with Folder(directory) as base:
            if not above:
                _place_tree(base, name, files)
                return directory / below
            base.make_folders(above)
            with base.sub(above) as parent:
                _place_tree(parent, name, files)
    except OSError as error:
        raise _cannot_write(directory / below, error) from error
    return directory / below


def place_file(target: Path, write: Callable[[IO[bytes]], object], *, replace: bool = False) -> Placed:
    """Write one file. With `replace` what is there makes room, in the same step."""
    temporary = target.with_name(temporary_name(target.name))
    try:
        return _place_file(target, temporary, write, replace=replace)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def place_below(directory: Path, name: str, write: Callable[[IO[bytes]], object]) -> Path:
    """Write one file into a directory, which is made if it is not there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make {directory}: {error.strerror}", hint="choose another directory with -o DIR"
        ) from error
    place_file(directory / name, write)
    return directory / name


def place_in(folder: Folder, name: str, blocks: Iterable[bytes], *, replace: bool = False) -> None:
    """Write one file into an open folder. What is there is an error, or with `replace` makes room."""
    temporary = temporary_name(name)
    try:
        _write(folder, temporary, blocks)
        if replace:
            folder.replace(temporary, name)
        else:
            _link_or_rename(folder, temporary, name)
        folder.sync()
    finally:
        with suppress(OSError):
            folder.remove(temporary)


def temporary_name(name: str) -> str:
    return f".{name}.{os.urandom(8).hex()}"


def _place_tree(parent: Folder, name: str, files: Mapping[str, Iterable[bytes]]) -> None:
    temporary = temporary_name(name)
    parent.make_folder(temporary)
    try:
        with parent.sub(temporary) as made:
            for path, blocks in files.items():
                _write(made, path, blocks)
            made.sync()
            _put_in_place(parent, made, temporary, name)
        parent.sync()
    finally:
        if parent.has_folder(temporary):
            parent.remove_tree(temporary)


def _put_in_place(parent: Folder, made: Folder, temporary: str, name: str) -> None:
    try:
        parent.replace(temporary, name)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        if not _is_same(parent, made, name):
            raise BadRequestError(
                f"{parent.path / name} is there already and holds something else",
                hint="choose another directory with -o DIR, or move it away",
            ) from None


def _is_same(parent: Folder, made: Folder, name: str) -> bool:
    try:
        there = parent.sub(name)
    except OSError:
        return False
    with there:
        entries = list(made.entries())
        return entries == list(there.entries()) and all(
            _digest(made.read(entry.path)) == _digest(there.read(entry.path)) for entry in entries
        )


def _write(folder: Folder, path: str, blocks: Iterable[bytes]) -> None:
    fd = folder.create(path)
    try:
        for block in blocks:
            write_all(fd, block)
        os.fsync(fd)
    finally:
        os.close(fd)


def _place_file(
    target: Path, temporary: Path, write: Callable[[IO[bytes]], object], *, replace: bool
) -> Placed:
    fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as out:
        write(out)
        out.flush()
        os.fsync(fd)
    with Folder(temporary.parent) as parent:
        made = Placed(parent.size(temporary.name), _digest(parent.read(temporary.name)))
        try:
            if replace:
                parent.replace(temporary.name, target.name)
            else:
                _link_or_rename(parent, temporary.name, target.name)
        except FileExistsError:
            if not _holds(parent, target.name, made):
                raise BadRequestError(
                    f"{target} is there already and holds something else",
                    hint="choose another name with -o FILE",
                ) from None
    return made


def _link_or_rename(parent: Folder, temporary: str, name: str) -> None:
    """A link fails where a name is taken, a rename would replace it; some file systems have no links."""
    try:
        parent.link(temporary, name)
    except OSError as error:
        if error.errno not in _NO_LINKS_HERE:
            raise
        if os.path.lexists(parent.path / name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
        parent.replace(temporary, name)


def _holds(parent: Folder, name: str, made: Placed) -> bool:
    return parent.has(name) and parent.size(name) == made.bytes and _digest(parent.read(name)) == made.sha256


def _digest(blocks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _cannot_write(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write {path}: {error.strerror}", hint="choose another place with -o")
