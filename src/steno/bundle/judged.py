"""A sealed run as its readers see it: the evidence as it was sealed, and what follows from it, made here.

A bundle of format 1 brings along what the Steno that sealed it concluded. That is never read: it may have
been concluded by other rules, or by somebody else. What is concluded of a large record is kept in the user's
own store, under a name that only the local key gives.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from steno import __version__
from steno.bundle import manifest as manifests
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.keys import read_keys
from steno.bundle.reader import FolderLayers, as_today
from steno.errors import StoreError
from steno.evidence import canonical, layout
from steno.judge.rules import RULES

if TYPE_CHECKING:
    from steno.judge.catalogue import Derivation
    from steno.judge.one_pass import Reading

_SMALL = frozenset({layout.RUN, layout.REDACTION_REPORT, layout.REPO_BEFORE, layout.REPO_AFTER})
CACHE = ".judged"
WORTH_KEEPING = 1 << 20  # of the table of system calls: below that, making is as fast as reading
MOST_RUNS = 32


class Files(Protocol):
    """The files of a record, by name."""

    @property
    def path(self) -> Path: ...

    def has(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str, start: int = 0) -> Iterator[bytes]: ...

    def read_all(self, path: str, limit: int) -> bytes: ...


class JudgedFiles:
    def __init__(self, run: Folder, layers: FolderLayers, root: str) -> None:
        self._run = run
        self._layers = layers
        self._root = root
        self._kept: dict[str, bytes] = {}

    @staticmethod
    def of(run: Folder) -> JudgedFiles:
        """Of a folder whose manifest says which run it is."""
        manifest = manifests.read(run)
        evidence = as_today(run)
        return JudgedFiles(evidence, FolderLayers(evidence, manifest.run_id), manifest.root)

    @property
    def path(self) -> Path:
        return self._run.path

    def expecting(self, paths: Iterable[str] = ()) -> Reading:
        """The evidence, and what was read off it. `paths` will be read: one pass of a table does for all."""
        from steno.judge.catalogue import scans_for  # late: likewise

        for path in paths:
            with suppress(OSError, ValueError):  # it is told to whoever reads the file
                if path in self._derivations and not (self._cache and self._cache.has(path)):
                    self._reading.expect(scans_for(self._reading, [path]))
        return self._reading

    def has(self, path: str) -> bool:
        return self._run.has(path) if self._is_evidence(path) else path in self._derivations

    def size(self, path: str) -> int:
        return self._layers.size(path) if self._is_evidence(path) else len(self._whole(path))

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        if self._is_evidence(path):
            return self._layers.read(path, start)
        return iter([self._whole(path)[start:]]) if start or path in self._kept else self._made(path)

    def read_all(self, path: str, limit: int) -> bytes:
        found = self._run.read_all(path, limit) if self._is_evidence(path) else self._whole(path)
        if len(found) > limit:
            raise OSError(errno.EFBIG, f"longer than {limit} bytes", path)
        return found

    def _is_evidence(self, path: str) -> bool:
        return path not in layout.JUDGED_FILES

    @cached_property
    def _derivations(self) -> dict[str, Derivation]:
        from steno.judge.catalogue import derivations  # late: a list of runs does without

        return derivations(self._reading)

    @cached_property
    def _reading(self) -> Reading:
        from steno.judge.one_pass import Reading  # late: likewise

        return Reading(self._layers)

    @cached_property
    def _cache(self) -> JudgementCache | None:
        return JudgementCache.of(self._run, self._root)

    def _made(self, path: str) -> Iterator[bytes]:
        if path not in self._derivations:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if path == layout.FILES and not self._layers.has(layout.FILE_LINES):
            # Without them no file would be changed, which nothing tells.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), layout.FILE_LINES)
        derive = self._derivations[path]
        if self._cache is None or path in _SMALL:
            return derive(self._reading)
        return self._cache.read(path) or self._told_once(path, self._cache.keep(path, derive(self._reading)))

    def _whole(self, path: str) -> bytes:
        if path not in self._kept:
            self._kept[path] = b"".join(self._told_once(path, self._made(path)))
        return self._kept[path]

    def _told_once(self, path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """From then on it is read from where it is kept."""
        from steno.judge.catalogue import SCANS  # late: likewise

        yield from blocks
        if path in SCANS:
            self._reading.forget(SCANS[path])


def allow_cache(store: Folder) -> None:
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
