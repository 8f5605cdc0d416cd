"""The values that a recorder knew to be secret, kept for whoever recovers its run.

In: the spool, the local key and values from the environment and the arguments. Out: one encrypted file
beside the frames, and the way back. The strings of the frames are masked only when the run is sealed; if the
recorder is killed before, its recovery must still know what to mask. Never part of a bundle, never in clear.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.frames import KERNEL
from steno.bundle.tape import write_all

KNOWN = f"{KERNEL}/known.bin"
MAX_BYTES = 64 << 20
_NONCE_BYTES = 12


def keep(spool: Folder, key: bytes, values: Sequence[bytes]) -> None:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # late: start-up has a budget

    nonce = os.urandom(_NONCE_BYTES)
    fd = spool.create(KNOWN)
    try:
        clear = msgspec.msgpack.encode(list(values))
        write_all(fd, nonce + ChaCha20Poly1305(key).encrypt(nonce, clear, KNOWN.encode()))
    finally:
        os.close(fd)


def read(spool: Folder, key: bytes) -> list[bytes]:
    """The values; none when the file is missing or is not what `keep` wrote."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        data = spool.read_all(KNOWN, MAX_BYTES)
        clear = ChaCha20Poly1305(key).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], KNOWN.encode())
        return msgspec.msgpack.decode(clear, type=list[bytes])
    except (OSError, ValueError, InvalidTag, msgspec.DecodeError):
        return []
