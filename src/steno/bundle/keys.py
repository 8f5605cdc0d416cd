"""The local keys, and what is encrypted with them: read by this user on this machine, and nowhere else.

They lie apart from the store, in `$XDG_STATE_HOME/steno`, so that a store that is copied whole leaks nothing.
A key in the store, where it was before, is found, and moved by the next recording. It is also where a key is
made by a user without a home that can be written to.
"""

from __future__ import annotations

import errno
import hashlib
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from steno.bundle.folder import Folder, write_all
from steno.bundle.lock import KERNEL
from steno.errors import StoreError

LOCAL_KEY = "local.key"
KEY_IN_STORE = ".local.key"
KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 12, 16
KNOWN_SECRETS = f"{KERNEL}/known.bin"
_MOST_KNOWN = 64 << 20
_LENGTH = struct.Struct("<I")  # of the nonce and the ciphertext that follow
_ANOTHER = ".key"  # how the names of keys end that were made for one store


def keys_path() -> Path | None:
    """Where the keys lie; None for a user without a home."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if state.startswith(os.sep):
        return Path(state) / "steno"
    home = os.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - unlike pathlib's, it does not raise
    return Path(home) / ".local" / "state" / "steno" if home.startswith(os.sep) else None


def make_or_read_key(store: Folder) -> bytes:
    """The key for a new record. It is made on first use; recorders that start at once agree on one."""
    try:
        with _keys_folder(make=True) as keys:
            _take_over(store, keys)
            return _make_key(keys, LOCAL_KEY, os.urandom(KEY_BYTES))
    except OSError:
        return _make_key(store, KEY_IN_STORE, os.urandom(KEY_BYTES))


def read_keys(store: Path) -> list[bytes]:
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
                    _replace_key(folder, path.name, key)
            except OSError:
                with Folder(store) as folder:
                    _replace_key(folder, KEY_IN_STORE, key)
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
        key = _read_key(store, KEY_IN_STORE)
        if _make_key(keys, LOCAL_KEY, key) != key:
            _make_key(keys, hashlib.sha256(key).hexdigest()[:16] + _ANOTHER, key)
        store.remove(KEY_IN_STORE)


def _found(store: Path) -> Iterator[tuple[Path, bytes]]:
    with suppress(FileNotFoundError), _keys_folder() as keys:
        names = [name for name in keys.names() if name.endswith(_ANOTHER) and not name.startswith(".")]
        for name in sorted(names, key=lambda name: name != LOCAL_KEY):
            yield keys.path / name, _read_key(keys, name)
    with suppress(FileNotFoundError, NotADirectoryError), Folder(store) as folder:
        yield store / KEY_IN_STORE, _read_key(folder, KEY_IN_STORE)


def _is_there(path: Path, key: bytes) -> bool:
    try:
        with Folder(path.parent) as folder:
            return _read_key(folder, path.name) == key
    except (OSError, StoreError):
        return False


def _make_key(folder: Folder, name: str, key: bytes) -> bytes:
    """The key of that name; where there is none, it is this one."""
    with suppress(FileNotFoundError):
        return _read_key(folder, name)
    temporary = _write_key(folder, key)
    try:
        with suppress(FileExistsError):  # whoever links first has made the key
            folder.link(temporary, name)
    finally:
        folder.remove(temporary)
    return _read_key(folder, name)


def _replace_key(folder: Folder, name: str, key: bytes) -> None:
    folder.replace(_write_key(folder, key), name)


def _write_key(folder: Folder, key: bytes) -> str:
    temporary = f".{LOCAL_KEY}-{os.urandom(8).hex()}"
    fd = folder.create(temporary)
    try:
        write_all(fd, key)
        os.fsync(fd)
    finally:
        os.close(fd)
    return temporary


def _read_key(folder: Folder, name: str) -> bytes:
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


def encrypt(key: bytes, clear: bytes, name: str) -> bytes:
    """A nonce and the ciphertext, which can be decrypted by the same name only."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # late: start-up has a budget

    nonce = os.urandom(NONCE_BYTES)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, clear, name.encode())


def decrypt(key: bytes, sealed: bytes, name: str) -> bytes | None:
    """None: it was encrypted by another key or name, or changed since."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], name.encode())
    except (InvalidTag, ValueError):
        return None


class KnownSecrets:
    """What a recorder knows to be secret, encrypted beside the frames for whoever recovers its run.

    The strings of the frames are masked only when the run is sealed. The file is held open: the command may
    remove its name.
    """

    def __init__(self, spool: Folder, key: bytes, values: Sequence[bytes]) -> None:
        self._key = key
        self._fd = spool.create(KNOWN_SECRETS, append=True)
        try:
            if values:
                self.add(values)
        except BaseException:
            self.close()
            raise

    def add(self, values: Sequence[bytes]) -> None:
        record = encrypt(self._key, msgspec.msgpack.encode(list(values)), KNOWN_SECRETS)
        whole = os.fstat(self._fd).st_size
        try:
            write_all(self._fd, _LENGTH.pack(len(record)) + record)
        except OSError:  # a later one must not follow a torn one
            os.ftruncate(self._fd, whole)
            raise

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def keep_known_secrets(spool: Folder, key: bytes, values: Sequence[bytes]) -> None:
    """Keep values of which there will be no more."""
    KnownSecrets(spool, key, values).close()


def read_known_secrets(spool: Folder, key: bytes) -> list[bytes]:
    """The values up to the first record that is not whole or not ours; none when the file is missing."""
    try:
        data = spool.read_all(KNOWN_SECRETS, _MOST_KNOWN)
    except OSError:
        return []
    values: list[bytes] = []
    for record in _records(data):
        found = _decrypted(record, key)
        if found is None:
            break
        values += found
    return values or _decrypted(data, key) or []  # an earlier version wrote one record without its length


def key_of_spool(spool: Folder, store: Path) -> bytes:
    """The local key by which this spool is encrypted, or the likeliest if none opens what was known."""
    keys = read_keys(store)
    data = spool.read_all(KNOWN_SECRETS, _MOST_KNOWN) if spool.has(KNOWN_SECRETS) else b""
    first = next(_records(data), b"")
    opening = (key for key in keys if any(_decrypted(one, key) is not None for one in (first, data)))
    return next(opening, keys[0]) if len(keys) > 1 else keys[0]


def _decrypted(record: bytes, key: bytes) -> list[bytes] | None:
    clear = decrypt(key, record, KNOWN_SECRETS)
    try:
        return None if clear is None else msgspec.msgpack.decode(clear, type=list[bytes])
    except (ValueError, msgspec.DecodeError):
        return None


def _records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        yield data[at : at + length]
        at += length
