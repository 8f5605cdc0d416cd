"""What was concluded from large records, kept beside them in the store, so that the next command is quick.

Only this user's own store has one. An entry belongs to one root, one set of rules, and the files of the run
as they were: whoever changes a file of a record, or a rule, finds none. It is never part of a bundle, it may
be removed at any time, and what cannot be kept is made again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from steno import __version__
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.keys import read_keys
from steno.errors import StoreError
from steno.evidence import canonical, layout
from steno.judge.rules import RULES

CACHE = ".judged"
WORTH_KEEPING = 1 << 20  # of the table of system calls: below that, making is as fast as reading
MOST_RUNS = 32


def allow(store: Folder) -> None:
    """Whoever records says so: a folder with records that came from somewhere is left as it is."""
    with suppress(OSError):
        store.make_folder(CACHE)


class JudgementCache:
    def __init__(self, store: Path, entry: str) -> None:
        self._store = store
        self._entry = entry

    @staticmethod
    def of(run: Folder, root: str) -> JudgementCache | None:
        """None: the run is small, or its folder is not in a store of this user."""
        if not run.has(layout.KERNEL_TABLE) or run.size(layout.KERNEL_TABLE) < WORTH_KEEPING:
            return None
        path = run.path.resolve().parent
        try:
            with Folder(path, follow=False) as store:
                if os.fstat(store.fd).st_uid != os.geteuid() or not store.has_folder(CACHE):
                    return None
            (key, *_) = read_keys(path)
            told = canonical.encode([root, RULES, __version__, *_identities(run)])
        except (OSError, StoreError):
            return None
        return JudgementCache(path, f"{CACHE}/{hmac.new(key, told, hashlib.sha256).hexdigest()}")

    def has(self, path: str) -> bool:
        try:
            with Folder(self._store, follow=False) as store:
                return store.has(f"{self._entry}/{path}")
        except OSError:
            return False

    def read(self, path: str) -> Iterator[bytes] | None:
        try:
            with Folder(self._store, follow=False) as store:
                return _blocks(store.open(f"{self._entry}/{path}"))
        except OSError:
            return None

    def keep(self, path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The blocks as they pass. The entry appears when the last one has, if the disk took them all."""
        try:
            store = Folder(self._store, follow=False)
        except OSError:
            yield from blocks
            return
        with store:
            yield from self._kept(store, f"{self._entry}/{path}", blocks)

    def _kept(self, store: Folder, name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        temporary = f"{name}.{os.urandom(4).hex()}"
        fd = -1
        with suppress(OSError):
            self._make_room(store)
            fd = store.create(temporary)
        try:
            for block in blocks:
                fd = _written(fd, block)
                yield block
            if fd >= 0:
                with suppress(OSError):
                    os.fsync(fd)
                    store.replace(temporary, name)
        finally:
            if fd >= 0:
                os.close(fd)
            with suppress(OSError):
                store.remove(temporary)

    def _make_room(self, store: Folder) -> None:
        """The entries that were made first go when there are too many."""
        if not store.has_folder(CACHE) or store.has_folder(self._entry):
            return
        with store.sub(CACHE) as cache:
            names = cache.names()
            ages = sorted((os.stat(name, dir_fd=cache.fd).st_mtime_ns, name) for name in names)
            for _, name in ages[: max(len(names) - MOST_RUNS + 1, 0)]:
                cache.remove_tree(name)


def _blocks(fd: int) -> Iterator[bytes]:
    with os.fdopen(fd, "rb", buffering=0) as file:
        while block := file.read(BLOCK):
            yield block


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
