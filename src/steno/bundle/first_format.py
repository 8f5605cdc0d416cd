"""A bundle of format 1, seen through the names and shapes of today's."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.evidence import compat, layout


def as_today(run: Folder) -> Folder:
    """The run's folder, whichever format it was sealed in, to be read by the names of `layout`."""
    if isinstance(run, FirstFormat) or run.has_folder(layout.SPOOL):
        return run
    try:
        manifest = manifests.read(run)
    except (OSError, ValueError):
        return run
    return FirstFormat(run, manifest.run_id) if manifest.format == compat.FIRST else run


class FirstFormat(Folder):
    """Lives as long as the folder that it was made of, which closes it."""

    def __init__(self, run: Folder, run_id: str) -> None:
        self.path = run.path
        self._fd = run.fd
        self._run = run
        self._run_id = run_id

    def close(self) -> None:
        pass

    def has(self, path: str) -> bool:
        name = self._name(path)
        if path == layout.OUTPUT and not self._has_index(path):
            return False  # one that was made of stdout and stderr
        return name is not None and self._run.has(name)

    def size(self, path: str) -> int:
        return self._run.size(self._known(path)) - len(self._header(path))

    def open(self, path: str, *, write: bool = False) -> int:
        fd = self._run.open(self._known(path), write=write)
        os.lseek(fd, len(self._header(path)), os.SEEK_SET)
        return fd

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        if path == layout.EVENTS:
            return self._events(start)
        return super().read(path, start + len(self._header(path)))

    def _events(self, start: int) -> Iterator[bytes]:
        blocks = super().read(layout.EVENTS, start)
        first, rest = b"", b""
        for block in blocks:
            first, newline, rest = (rest + block).partition(b"\n")
            if newline:
                break
            rest = first
        else:
            yield rest
            return
        recorded = [layout.shown(tape).rpartition("/")[2] for tape in layout.TAPES if self._has_index(tape)]
        yield (first + b"\n" if start else compat.first_line_of_first(first + b"\n", recorded)) + rest
        yield from blocks

    def _has_index(self, tape: str) -> bool:
        return self.has(layout.index_of(tape))

    def _header(self, path: str) -> bytes:
        return compat.header_in_first(path, self._run_id)

    def _name(self, path: str) -> str | None:
        return compat.name_in_first(path) if path.startswith(f"{layout.EVIDENCE}/") else path

    def _known(self, path: str) -> str:
        name = self._name(path)
        if name is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return name
