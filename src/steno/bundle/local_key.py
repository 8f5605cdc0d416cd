"""The local keys: what is encrypted with them is read by this user on this machine, and nowhere else.

They lie apart from the store, in `$XDG_STATE_HOME/steno`, so that a store that is copied whole leaks nothing.
A key in the store, where it was before, is found, and moved by the next recording. It is also where a key is
made by a user without a home that can be written to.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from steno.bundle.folder import Folder
from steno.bundle.tape import write_all
from steno.errors import StoreError

LOCAL_KEY = "local.key"
KEY_IN_STORE = ".local.key"
KEY_BYTES = 32
_ANOTHER = ".key"  # how the names of keys end that were made for one store


def keys_path() -> Path | None:
    """Where the keys lie; None for a user without a home."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if state.startswith(os.sep):
        return Path(state) / "steno"
    home = os.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - unlike pathlib's, it does not raise
    return Path(home) / ".local" / "state" / "steno" if home.startswith(os.sep) else None


def make_or_read(store: Folder) -> bytes:
    """The key for a new record. It is made on first use; recorders that start at once agree on one."""
    try:
        with _keys_folder(make=True) as keys:
            _take_over(store, keys)
            return _made(keys, LOCAL_KEY, os.urandom(KEY_BYTES))
    except OSError:
        return _made(store, KEY_IN_STORE, os.urandom(KEY_BYTES))


def read_all(store: Path) -> list[bytes]:
    """Every key by which something in this store may be encrypted, the likeliest first."""
    keys = list(dict.fromkeys(key for _, key in _found(store)))
    if not keys:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), LOCAL_KEY)
    return keys


class HeldKeys:
    """The keys as they were before the command, which may remove them."""

    def __init__(self, store: Path) -> None:
        self._keys = dict(_found(store))

    @property
    def are_apart(self) -> bool:
        """Whether any lies where keys belong, and not in the store."""
        return any(path.name != KEY_IN_STORE for path in self._keys)

    def put_back(self, store: Path) -> int:
        """How many were gone or changed. Each is where it was, or in the store if that cannot be."""
        lost = {path: key for path, key in self._keys.items() if not _is_there(path, key)}
        for path, key in lost.items():
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with Folder(path.parent, follow=False) as folder:
                    _replace(folder, path.name, key)
            except OSError:
                with Folder(store) as folder:
                    _replace(folder, KEY_IN_STORE, key)
        return len(lost)


def _keys_folder(*, make: bool = False) -> Folder:
    """What others may have put in its place is no error of the system, and is not used."""
    path = keys_path()
    if path is None:
        raise FileNotFoundError(errno.ENOENT, "there is no home")
    if make:
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
    try:
        folder = Folder(path, follow=False)
        found = os.fstat(folder.fd)
    except OSError as error:
        if not os.path.lexists(path):
            raise
        raise _unusable(path, error.strerror) from error
    if os.geteuid() not in {0, found.st_uid}:
        folder.close()
        raise _unusable(path, "it is another user's")
    if make and found.st_mode & 0o077 and found.st_uid == os.geteuid():
        os.fchmod(folder.fd, 0o700)
    return folder


def _unusable(path: Path, why: str | None) -> StoreError:
    return StoreError(f"cannot use {path}: {why}", hint="it is a directory of yours, and holds keys of Steno")


def _take_over(store: Folder, keys: Folder) -> None:
    """The key that an earlier version made in the store."""
    with suppress(FileNotFoundError):
        key = _read(store, KEY_IN_STORE)
        if _made(keys, LOCAL_KEY, key) != key:
            _made(keys, hashlib.sha256(key).hexdigest()[:16] + _ANOTHER, key)
        store.remove(KEY_IN_STORE)


def _found(store: Path) -> Iterator[tuple[Path, bytes]]:
    with suppress(FileNotFoundError, NotADirectoryError), Folder(store) as folder:
        yield store / KEY_IN_STORE, _read(folder, KEY_IN_STORE)
    with suppress(FileNotFoundError), _keys_folder() as keys:
        names = [name for name in keys.names() if name.endswith(_ANOTHER) and not name.startswith(".")]
        for name in sorted(names, key=lambda name: name != LOCAL_KEY):
            yield keys.path / name, _read(keys, name)


def _is_there(path: Path, key: bytes) -> bool:
    try:
        with Folder(path.parent) as folder:
            return _read(folder, path.name) == key
    except (OSError, StoreError):
        return False


def _made(folder: Folder, name: str, key: bytes) -> bytes:
    """The key of that name; where there is none, it is this one."""
    with suppress(FileNotFoundError):
        return _read(folder, name)
    temporary = _written(folder, key)
    try:
        with suppress(FileExistsError):  # whoever links first has made the key
            folder.link(temporary, name)
    finally:
        folder.remove(temporary)
    return _read(folder, name)


def _replace(folder: Folder, name: str, key: bytes) -> None:
    folder.replace(_written(folder, key), name)


def _written(folder: Folder, key: bytes) -> str:
    temporary = f".{LOCAL_KEY}-{os.urandom(8).hex()}"
    fd = folder.create(temporary)
    try:
        write_all(fd, key)
        os.fsync(fd)
    finally:
        os.close(fd)
    return temporary


def _read(folder: Folder, name: str) -> bytes:
    try:
        key = folder.read_all(name, KEY_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"cannot use {folder.path / name}: {error.strerror}", hint="it holds 32 bytes that we wrote"
        ) from error
    if len(key) != KEY_BYTES:
        raise StoreError(
            f"{folder.path / name} has {len(key)} bytes, not {KEY_BYTES}",
            hint="put the right key back; what was encrypted with it cannot be read without it",
        )
    return key
