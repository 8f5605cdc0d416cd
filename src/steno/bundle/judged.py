"""A sealed run as its readers see it: the evidence as it was sealed, and what follows from it, made here.

A bundle of format 1 brings along what the Steno that sealed it concluded. That is never read: it may
have been concluded by other rules, or by somebody else.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.judgement_cache import JudgementCache
from steno.bundle.reader import FolderLayers, as_today
from steno.evidence import layout

if TYPE_CHECKING:
    from steno.judge.catalogue import Derivation
    from steno.judge.one_pass import Reading


_SMALL = frozenset({layout.RUN, layout.REDACTION_REPORT, layout.REPO_BEFORE, layout.REPO_AFTER})


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
