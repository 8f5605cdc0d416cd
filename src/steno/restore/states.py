"""What the record says was at each path, read with suspicion, and the contents that it keeps.

Anybody may have written it. `FileRecords` are plain states under absolute paths, as bytes. A path that is not
absolute, or that has a NUL, an empty part, `.` or `..`, is no path that a recorder writes: the whole bundle
is refused. Never looks at the file system.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from steno.errors import BadBundleError
from steno.evidence.layout import BLOBS
from steno.judge.types import File, FileState, ThingRenamed
from steno.model import contents
from steno.model.contents import ContentsError, secret_keys
from steno.model.run import Run

_MAX_ID = 2**32 - 2  # one more means "leave it as it is" to chown(2)
_MAX_MODE = 0o177777
_NS = 10**9
# What a masked name looks like. A real name like that is refused, too: all it costs is its undo.
MASKED = b"****"


class Kind(StrEnum):
    UNKNOWN = "unknown"
    ABSENT = "absent"
    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    CHAR = "char"
    BLOCK = "block"


class State(NamedTuple):
    """What is, or was, at a path. `blob` is the key of its content, `content` says why there is none. A link
    without a `target` is one of which nobody knows where it led."""

    kind: Kind
    mode: int = 0
    mtime_ns: int = 0
    size: int = 0
    uid: int = 0
    gid: int = 0
    target: bytes = b""
    blob: str | None = None
    content: str | None = None

    @property
    def exists(self) -> bool:
        return self.kind not in {Kind.ABSENT, Kind.UNKNOWN}


ABSENT = State(Kind.ABSENT)
UNKNOWN = State(Kind.UNKNOWN)


class FileRecord(NamedTuple):
    path: bytes
    operations: frozenset[str]
    before: State
    after: State
    set_beside: bool = False  # the run set what is in no state: extended attributes, flags of the inode


class Rename(NamedTuple):
    """`exchange`: what had the new name got the old one. `node` is the device and the inode of what is no
    directory: it is renamed only if it is still that very one."""

    old: bytes
    new: bytes
    exchange: bool = False
    node: tuple[int, int] | None = None


class HardLink(NamedTuple):
    """A name that a file had before the run: the device and inode of the file, and how many names it had."""

    node: tuple[int, int]
    links: int


class FileRecords(NamedTuple):
    """`unlisted` are the paths that the run changed and of which no state is kept; `hard_links` the names of
    files that had several before the run, as far as it met them."""

    files: list[FileRecord]
    renames: list[Rename]
    unlisted: frozenset[bytes] = frozenset()
    hard_links: Mapping[bytes, HardLink] = MappingProxyType({})


def read_records(files: Iterable[File], renames: Iterable[ThingRenamed] = ()) -> FileRecords:
    """The records of the files of a run, or a `BadBundleError`."""
    try:
        found = [
            FileRecord(
                _path(file.name),
                frozenset(file.operations),
                _before(file),
                _state(file.after),
                set_beside=file.change == "metadata" and _figures(file.before) == _figures(file.after),
            )
            for file in files
        ]
        renamed = [Rename(_path(one.old), _path(one.new), one.exchanged, one.node) for one in renames]
        _check_names(found)
    except ValueError as error:
        raise BadBundleError(
            f"the files of the record are not what a recorder writes: {error}", hint="nothing was changed"
        ) from None
    return FileRecords(found, renamed)


def parts_of(path: bytes) -> list[bytes]:
    """The names on the way from the root: none for the root itself."""
    return path.split(b"/")[1:] if path != b"/" else []


def is_below(path: bytes, directory: bytes) -> bool:
    return path.startswith(directory.rstrip(b"/") + b"/")


def is_at_or_below(path: bytes, directory: bytes) -> bool:
    return path == directory or is_below(path, directory)


def parent_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[0] or b"/"


def kind_of(mode: int) -> Kind:
    for test, kind in (
        (stat.S_ISREG, Kind.FILE),
        (stat.S_ISDIR, Kind.DIRECTORY),
        (stat.S_ISLNK, Kind.SYMLINK),
        (stat.S_ISFIFO, Kind.FIFO),
        (stat.S_ISSOCK, Kind.SOCKET),
        (stat.S_ISCHR, Kind.CHAR),
        (stat.S_ISBLK, Kind.BLOCK),
    ):
        if test(mode):
            return kind
    return Kind.UNKNOWN


def _figures(state: FileState) -> tuple[object, ...]:
    return state.kind, state.mode, state.uid, state.gid, state.mtime_ns, state.size


def _check_names(files: list[FileRecord]) -> None:
    if len({file.path for file in files}) != len(files):
        raise ValueError("a path is recorded twice")


def _path(path: bytes) -> bytes:
    parts = parts_of(path)
    if not path.startswith(b"/") or b"\0" in path or any(part in {b"", b".", b".."} for part in parts):
        raise ValueError(f"not a plain absolute path: {path!r}")
    return path


def _before(file: File) -> State:
    """Of two files of one size and time: if the record does not call them the same, nobody can."""
    before, after = _state(file.before), _state(file.after)
    alike = before.kind is Kind.FILE and (before.size, before.mtime_ns) == (after.size, after.mtime_ns)
    return UNKNOWN if file.change == "unknown" and alike and before.blob is None else before


def _state(found: FileState) -> State:
    if found.exists is None:
        return UNKNOWN
    if not found.exists:
        return ABSENT
    mode, uid, gid = found.mode or 0, found.uid or 0, found.gid or 0
    kind = kind_of(mode) if 0 <= mode <= _MAX_MODE else Kind.UNKNOWN
    if found.kind != kind or kind is Kind.UNKNOWN:
        raise ValueError(f"a {found.kind} has the mode {mode}")
    size, mtime_ns = found.size or 0, found.mtime_ns or 0
    if size < 0 or not -(2**33) * _NS < mtime_ns < 2**36 * _NS:
        raise ValueError(f"no file has {size} bytes and was changed at {mtime_ns} ns")
    if not (0 <= uid <= _MAX_ID and 0 <= gid <= _MAX_ID):
        raise ValueError(f"no file belongs to user {uid}, group {gid}")
    target = found.link
    untold = kind is Kind.SYMLINK and found.target is None  # a probe may have been too late to read it
    if ((kind is Kind.SYMLINK) != bool(target) and not untold) or b"\0" in target:
        raise ValueError(f"a {kind} points to {target!r}")
    return State(
        kind=kind,
        mode=stat.S_IMODE(mode),
        mtime_ns=mtime_ns,
        size=size,
        uid=uid,
        gid=gid,
        target=target,
        blob=found.blob,
        content=found.no_content_reason,
    )


class LackingContentError(Exception):
    """The record does not hold a content, or it cannot be decrypted here."""


class Contents(Protocol):
    def get(self, key: str) -> bytes:
        """The content of that key, or a `LackingContentError`."""


class KeptContents:
    def __init__(self, blobs: contents.Contents | None, keys: Sequence[bytes] = ()) -> None:
        self._blobs = blobs
        self._keys = keys

    def get(self, key: str) -> bytes:
        if self._blobs is None or key not in self._blobs:
            raise LackingContentError("its content is not in the record")
        try:
            return self._blobs.read(key, self._keys)
        except ContentsError:
            if self._blobs.is_encrypted(key):
                raise LackingContentError(
                    "its content holds a secret, encrypted to a key that is not here"
                ) from None
            raise LackingContentError("its content in the record is damaged") from None


@contextmanager
def open_contents(run: Run, store: Path) -> Iterator[KeptContents]:
    if not run.has_contents:
        yield KeptContents(None)
        return
    try:
        with run.open_contents() as blobs:
            yield KeptContents(blobs, secret_keys(store))
    except ContentsError as error:
        raise BadBundleError(f"{BLOBS}: {error}", hint="nothing was changed") from error
