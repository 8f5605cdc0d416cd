"""What was concluded from large records, kept beside them in the store, so that the next command is quick.

Only this user's own store has one. An entry belongs to one root, one set of rules, and the files of the run
as they were: whoever changes a file of a record, or a rule, finds none. It ends with a digest that only this
user's key makes: what was harmed is not there. It is never part of a bundle, it may be removed at any time,
and what cannot be kept is made again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from steno import __version__
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.keys import read_keys
from steno.errors import StoreError
from steno.evidence import canonical, layout
from steno.judge.rules import RULES

CACHE = ".judged"
_LENGTH, _DIGEST = 8, 32
WORTH_KEEPING = 1 << 20  # of the table of system calls: below that, making is as fast as reading
MOST_RUNS = 32


def allow(store: Folder) -> None:
    """Whoever records says so: a folder with records that came from somewhere is left as it is."""
    with suppress(OSError):
        store.make_folder(CACHE)


class JudgementCache:
    def __init__(self, store: Path, key: bytes, told: bytes) -> None:
        self._store = store
        self._key = key
        self._entry = f"{CACHE}/{hmac.new(key, told, hashlib.sha256).hexdigest()}"

    @staticmethod
    def of(run: Folder, root: str, types: list[list[str]]) -> JudgementCache | None:
        """None: the run is small, or its folder is not in a store of this user.

        `types` are those of what is kept: where they have changed, it is of no use.
        """
        if not run.has(layout.KERNEL_TABLE) or run.size(layout.KERNEL_TABLE) < WORTH_KEEPING:
            return None
        path = run.path.resolve().parent
        try:
            with Folder(path, follow=False) as store:
                if os.fstat(store.fd).st_uid != os.geteuid() or not store.has_folder(CACHE):
                    return None
            (key, *_) = read_keys(path)
            told = canonical.encode([root, RULES, __version__, types, *_identities(run)])
        except (OSError, StoreError):
            return None
        return JudgementCache(path, key, told)

    def has(self, name: str) -> bool:
        with suppress(OSError), Folder(self._store, follow=False) as store:
            return store.has(f"{self._entry}/{name}")
        return False

    def read(self, name: str) -> Iterator[bytes] | None:
        """The frames of a part, when they are as they were written."""
        with suppress(OSError), Folder(self._store, follow=False) as store:
            file = os.fdopen(store.open(f"{self._entry}/{name}"), "rb")
            if self._is_whole(file, name):
                return _frames(file)
            file.close()
        return None

    def keep(self, name: str, frames: Iterable[bytes]) -> Iterator[bytes]:
        """The frames as they pass. The part appears when the last one has, if the disk took them all."""
        try:
            store = Folder(self._store, follow=False)
        except OSError:
            yield from frames
            return
        with store:
            yield from self._written(store, name, frames)

    def _written(self, store: Folder, name: str, frames: Iterable[bytes]) -> Iterator[bytes]:
        temporary = f"{self._entry}/{name}.{os.urandom(4).hex()}"
        digest, fd = self._digest(name), -1
        with suppress(OSError):
            self._make_room(store)
            fd = store.create(temporary)
        try:
            for frame in frames:
                block = len(frame).to_bytes(_LENGTH, "little") + frame
                digest.update(block)
                fd = _written(fd, block)
                yield frame
            fd = _written(fd, digest.digest())
            if fd >= 0:
                with suppress(OSError):
                    os.fsync(fd)
                    store.replace(temporary, f"{self._entry}/{name}")
        finally:
            if fd >= 0:
                os.close(fd)
            with suppress(OSError):
                store.remove(temporary)

    def _is_whole(self, file: BinaryIO, name: str) -> bool:
        digest, left = self._digest(name), os.fstat(file.fileno()).st_size - _DIGEST
        while left > 0 and (block := file.read(min(left, BLOCK))):
            digest.update(block)
            left -= len(block)
        is_whole = not left and hmac.compare_digest(file.read(), digest.digest())
        file.seek(0)
        return is_whole

    def _digest(self, name: str) -> hmac.HMAC:
        return hmac.new(self._key, f"{self._entry}/{name}".encode(), hashlib.sha256)

    def _make_room(self, store: Folder) -> None:
        """The entries that were made first go when there are too many."""
        if not store.has_folder(CACHE) or store.has_folder(self._entry):
            return
        with store.sub(CACHE) as cache:
            names = cache.names()
            ages = sorted((os.stat(name, dir_fd=cache.fd).st_mtime_ns, name) for name in names)
            for _, name in ages[: max(len(names) - MOST_RUNS + 1, 0)]:
                cache.remove_tree(name)


def _frames(file: BinaryIO) -> Iterator[bytes]:
    with file:
        left = os.fstat(file.fileno()).st_size - _DIGEST
        while left > 0:
            length = int.from_bytes(file.read(_LENGTH), "little")
            yield file.read(length)
            left -= _LENGTH + length


def _written(fd: int, block: bytes) -> int:
    """The descriptor, or -1 from the first write on that the disk refused."""
    if fd < 0:
        return fd
    try:
        rest = memoryview(block)
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError:
        os.close(fd)
        return -1
    return fd


def _identities(run: Folder) -> Iterator[list[str]]:
    """Every file of the run, in a way that changes when somebody changes it."""
    for entry in run.entries():
        found = run.status(entry.path)
        numbers = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        yield [entry.path, *map(str, numbers)]
