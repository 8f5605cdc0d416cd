"""The values that a recorder knew to be secret, kept for whoever recovers its run.

In: the spool, the local key and values from the environment and the arguments, then each one that is learned
while the command runs. Out: one file of encrypted records beside the frames, and the way back. The strings of
the frames are masked only when the run is sealed; if the recorder is killed before, its recovery must still
know what to mask. Never part of a bundle, never in clear.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from steno.bundle import local_key
from steno.bundle.folder import Folder
from steno.bundle.frames import KERNEL
from steno.bundle.tape import write_all

KNOWN = f"{KERNEL}/known.bin"
MAX_BYTES = 64 << 20
_LENGTH = struct.Struct("<I")  # of the nonce and the ciphertext that follow
_NONCE_BYTES = 12


class KnownSecrets:
    """The file, held open: the command may remove its name."""

    def __init__(self, spool: Folder, key: bytes, values: Sequence[bytes]) -> None:
        self._key = key
        self._fd = spool.create(KNOWN, append=True)
        try:
            if values:
                self.add(values)
        except BaseException:
            self.close()
            raise

    def add(self, values: Sequence[bytes]) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import (
            ChaCha20Poly1305,
        )  # late: start-up has a budget

        nonce = os.urandom(_NONCE_BYTES)
        clear = msgspec.msgpack.encode(list(values))
        record = nonce + ChaCha20Poly1305(self._key).encrypt(nonce, clear, KNOWN.encode())
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


def keep(spool: Folder, key: bytes, values: Sequence[bytes]) -> None:
    """Keep values of which there will be no more."""
    KnownSecrets(spool, key, values).close()


def read(spool: Folder, key: bytes) -> list[bytes]:
    """The values up to the first record that is not whole or not ours; none when the file is missing."""
    try:
        data = spool.read_all(KNOWN, MAX_BYTES)
    except OSError:
        return []
    values: list[bytes] = []
    for record in _records(data):
        found = _decrypted(record, key)
        if found is None:
            break
        values += found
    return values or _decrypted(data, key) or []  # an earlier version wrote one record without its length


def key_of(spool: Folder, store: Path) -> bytes:
    """The local key by which this spool is encrypted, or the likeliest if none opens what was known."""
    keys = local_key.read_all(store)
    data = spool.read_all(KNOWN, MAX_BYTES) if spool.has(KNOWN) else b""
    first = next(_records(data), b"")
    opening = (key for key in keys if any(_decrypted(one, key) is not None for one in (first, data)))
    return next(opening, keys[0]) if len(keys) > 1 else keys[0]


def _decrypted(record: bytes, key: bytes) -> list[bytes] | None:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        clear = ChaCha20Poly1305(key).decrypt(record[:_NONCE_BYTES], record[_NONCE_BYTES:], KNOWN.encode())
        return msgspec.msgpack.decode(clear, type=list[bytes])
    except (ValueError, InvalidTag, msgspec.DecodeError):
        return None


def _records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        yield data[at : at + length]
        at += length
