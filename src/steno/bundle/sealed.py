"""The folder of a sealed bundle, which gives nothing that is not as it was sealed."""

from __future__ import annotations

import hashlib
import os

from steno.bundle import manifest as manifests
from steno.bundle.first_format import FirstFormat
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.manifest import Manifest
from steno.evidence import compat, layout


class NotAsSealedError(ValueError):
    """A file of a bundle is missing, or its bytes are not those that were sealed."""


class SealedFolder(Folder):
    """Lives as long as the folder that it was made of, which closes it.

    A file is looked at as a whole when it is first opened, and again when it is another since. What the
    manifest does not name is not there.
    """

    def __init__(self, run: Folder, manifest: Manifest) -> None:
        self.path = run.path
        self._fd = run.fd
        self._files = manifest.files
        self._seen: dict[str, tuple[int, ...]] = {}

    def close(self) -> None:
        pass

    def has(self, path: str) -> bool:
        return path in self._files or (path == layout.MANIFEST and super().has(path))

    def size(self, path: str) -> int:
        return self._files[path].bytes if path in self._files else super().size(path)

    def open(self, path: str, *, write: bool = False) -> int:
        if path not in self._files:
            return super().open(path, write=write)
        try:
            fd = super().open(path, write=write)
        except FileNotFoundError:
            raise NotAsSealedError(f"{path} is missing") from None
        try:
            found = os.fstat(fd)
            identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            if self._seen.get(path) != identity:
                self._look_at(path, fd)
                self._seen[path] = identity
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _look_at(self, path: str, fd: int) -> None:
        expected, digest = self._files[path], hashlib.sha256()
        if os.fstat(fd).st_size == expected.bytes:  # first, so that a huge file is never read
            while block := os.read(fd, BLOCK):
                digest.update(block)
        if digest.hexdigest() != expected.sha256:
            raise NotAsSealedError(f"{path} is not as it was sealed")
        os.lseek(fd, 0, os.SEEK_SET)


def open_sealed(run: Folder) -> tuple[Manifest, Folder]:
    """The manifest of a sealed bundle, and its evidence by today's names.

    Raises ValueError or OSError where there is no manifest that can be read, or its root is not its own.
    """
    data = run.read_all(layout.MANIFEST, manifests.MAX_BYTES)
    manifest = manifests.parse(data)
    if not manifests.root_matches(data):
        raise NotAsSealedError("the root does not match the manifest")
    sealed = SealedFolder(run, manifest)
    return manifest, FirstFormat(sealed, manifest.run_id) if manifest.format == compat.FIRST else sealed
