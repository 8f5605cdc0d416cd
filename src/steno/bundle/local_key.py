"""The local key: what is encrypted with it can be read on this machine by this user, and nowhere else.

In: the store's folder. Out: 32 bytes, made on first use in `.local.key`, mode 0600. Two recorders that start
at once agree on one key. Never follows a link, never overwrites a key, never uses one of another length.
"""

from __future__ import annotations

import os
from contextlib import suppress

from steno.bundle.folder import Folder
from steno.bundle.tape import write_all
from steno.errors import StoreError

LOCAL_KEY = ".local.key"
KEY_BYTES = 32


def make_or_read(store: Folder) -> bytes:
    """The store's key; a store without one gets one."""
    with suppress(FileNotFoundError):
        return read(store)
    put_back(store, os.urandom(KEY_BYTES))
    return read(store)


def put_back(store: Folder, key: bytes) -> None:
    """Give a store that has no key this one."""
    temporary = f"{LOCAL_KEY}-{os.urandom(8).hex()}"
    fd = store.create(temporary)
    try:
        try:
            write_all(fd, key)
            os.fsync(fd)
        finally:
            os.close(fd)
        with suppress(FileExistsError):  # whoever links first has made the key
            store.link(temporary, LOCAL_KEY)
    finally:
        store.remove(temporary)


def read(store: Folder) -> bytes:
    try:
        key = store.read_all(LOCAL_KEY, KEY_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"cannot use {store.path / LOCAL_KEY}: {error.strerror}", hint="it holds 32 bytes that we wrote"
        ) from error
    if len(key) != KEY_BYTES:
        raise StoreError(
            f"{store.path / LOCAL_KEY} has {len(key)} bytes, not {KEY_BYTES}",
            hint="put the right key back; what was encrypted with it cannot be read without it",
        )
    return key
