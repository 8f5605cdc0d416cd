"""What the record says was at each path, and the contents that it keeps.

`files.json` is read with suspicion: anybody may have written the bundle. A path that is not absolute, or that
has a NUL, an empty part, `.` or `..`, is no path that a recorder writes: the whole bundle is refused. Never
looks at the file system.
"""

from __future__ import annotations

import base64
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from steno.errors import BadBundleError
from steno.evidence import canonical
from steno.evidence.layout import BLOBS
from steno.model import contents, kernel_layer
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


class _Rename(msgspec.Struct, frozen=True):
    old: str = msgspec.field(name="from")
    new: str = msgspec.field(name="to")
    old_b64: str | None = msgspec.field(name="from_b64", default=None)
    new_b64: str | None = msgspec.field(name="to_b64", default=None)
    exchange: bool = False
    dev: int | None = None
    ino: int | None = None

    @property
    def node(self) -> tuple[int, int] | None:
        return None if self.dev is None or self.ino is None else (self.dev, self.ino)


class _Files(msgspec.Struct, frozen=True):
    schema: Literal["steno.files.v1"]
    files: list[kernel_layer.File]
    directory_renames: list[_Rename] = []


def read_records(value: Any) -> FileRecords:
    """The records of a decoded `files.json`, or a `BadBundleError`."""
    try:
        found = msgspec.convert(value, _Files)
        files = [
            FileRecord(
                _path(file.path, file.path_b64),
                frozenset(file.operations),
                _before(file),
                _state(file.after),
                set_beside=file.change == "metadata" and _told(file.before) == _told(file.after),
            )
            for file in found.files
        ]
        renames = [
            Rename(_path(one.old, one.old_b64), _path(one.new, one.new_b64), one.exchange, one.node)
            for one in found.directory_renames
        ]
        _check_names(files)
    except (ValueError, msgspec.ValidationError) as error:
        raise BadBundleError(
            f"files.json is not what a recorder writes: {error}", hint="nothing was changed"
        ) from None
    return FileRecords(files, renames)


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


def _told(state: kernel_layer.State) -> tuple[object, ...]:
    return state.type, state.mode, state.uid, state.gid, str(state.mtime_ns), str(state.size)


def _check_names(files: list[FileRecord]) -> None:
    if len({file.path for file in files}) != len(files):
        raise ValueError("a path is recorded twice")


def _path(text: str, b64: str | None) -> bytes:
    path = _bytes(text, b64)
    parts = parts_of(path)
    if not path.startswith(b"/") or b"\0" in path or any(part in {b"", b".", b".."} for part in parts):
        raise ValueError(f"not a plain absolute path: {path!r}")
    return path


def _bytes(text: str, b64: str | None) -> bytes:
    return text.encode() if b64 is None else base64.b64decode(b64, validate=True)


def _before(file: kernel_layer.File) -> State:
    """Of two files of one size and time: if the record does not call them the same, nobody can."""
    before, after = _state(file.before), _state(file.after)
    alike = before.kind is Kind.FILE and (before.size, before.mtime_ns) == (after.size, after.mtime_ns)
    return UNKNOWN if file.change == "unknown" and alike and before.blob is None else before


def _state(found: kernel_layer.State) -> State:
    if found.exists is None:
        return UNKNOWN
    if not found.exists:
        return ABSENT
    mode, uid, gid = found.mode or 0, found.uid or 0, found.gid or 0
    kind = kind_of(mode) if 0 <= mode <= _MAX_MODE else Kind.UNKNOWN
    if found.type != kind or kind is Kind.UNKNOWN:
        raise ValueError(f"a {found.type} has the mode {mode}")
    size, mtime_ns = canonical.integer(found.size or 0), canonical.integer(found.mtime_ns or 0)
    if size < 0 or not -(2**33) * _NS < mtime_ns < 2**36 * _NS:
        raise ValueError(f"no file has {size} bytes and was changed at {mtime_ns} ns")
    if not (0 <= uid <= _MAX_ID and 0 <= gid <= _MAX_ID):
        raise ValueError(f"no file belongs to user {uid}, group {gid}")
    target = _bytes(found.target or "", found.target_b64)
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
        content=found.content,
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
