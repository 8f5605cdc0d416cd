"""What a page carries of a record: the evidence as it was sealed, and what follows from it, made here.

Each is a `Part`, which the page has gzipped and in base64, or asks the server for. A file that is too large
for a page, or that cannot be read, is named and left out. Of contents that are too large together, those of
changed files come as an extract, which is in no manifest. Of a run that is not sealed the page carries what
the spool has in clear.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from steno import __version__
from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.inventory import recorded_files
from steno.bundle.judged import JudgedFiles
from steno.bundle.manifest import Manifest
from steno.bundle.reader import FolderLayers
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, compat, layout
from steno.judge.catalogue import derivations
from steno.judge.rules import RULES
from steno.model import so_far
from steno.model.record import open_record
from steno.views.report.extract import EXTRACT, changed_contents

LARGEST = 64 << 20  # of a part that a page carries
LARGEST_BY_URL = 512 << 20  # of one that a page asks for: a browser holds a few of these
_LEVEL, _GZIP = 9, 31
JUDGED = layout.JUDGED_FILES
_BLOBS = layout.shown(layout.BLOBS)
_NOT_OF_EVIDENCE = frozenset({layout.MANIFEST, EXTRACT, *JUDGED})


class Part(NamedTuple):
    path: str  # as the page names it, whatever the format of the record
    size: int | None  # None: known when it is made
    sha256: str | None  # what the manifest says, which the browser looks into; of what is made here, its own
    blocks: Callable[[], Iterator[bytes]]
    packed: bytes | None = None  # the same gzipped, where it was made already
    sealed_as: str | None = None  # its name in the manifest; None: it is no file of the record
    skip: int = 0  # bytes before a stream, which are none of it
    extract_of: str | None = None

    def read(self) -> bytes:
        return b"".join(self.blocks())

    def to_json(self, **where: str) -> dict[str, Any]:
        told: dict[str, Any] = {"path": self.path, "bytes": self.size, "sha256": self.sha256, **where}
        more = {"sealed_as": self.sealed_as, "skip": self.skip or None, "extract_of": self.extract_of}
        return told | {name: value for name, value in more.items() if value is not None}


class LeftOut(NamedTuple):
    path: str
    size: int | None
    why: str


class Parts(NamedTuple):
    inside: list[Part]
    left_out: list[LeftOut]
    root: str | None = None  # of the evidence that the judgement is of

    @property
    def data(self) -> dict[str, Any]:
        """What the page's data says of its parts."""
        return {
            "parts": [part.to_json(id=f"part-{number}") for number, part in enumerate(self.inside)],
            "left_out": [{"path": one.path, "bytes": one.size, "why": one.why} for one in self.left_out],
            "judgement": {
                "rules": RULES,
                "steno": __version__,
                "root": self.root,
                "files": {one.path: one.sha256 for one in self.inside if one.path in JUDGED},
            },
        }

    def embedded(self) -> Iterator[bytes]:
        """The elements that carry the bytes, in the order of `data`."""
        for number, part in enumerate(self.inside):
            packed = part.packed or b"".join(_packed(part.blocks()))
            yield b'<script type="text/plain" id="part-%d">%s</script>\n' % (number, b64encode(packed))


def parts_of(folder: Folder, largest: int = LARGEST, *, extract: bool = True, made: bool = True) -> Parts:
    """The manifest first, then the rest by name.

    `extract`: make one where it is needed. `made`: make what is judged, else it is made when it is read.
    """
    if folder.has_folder(layout.SPOOL):
        return _spooled(folder)
    manifest = _manifest(folder)
    found = [_file(folder, *one, largest) for one in _sealed_files(manifest) if folder.has(one[1])]
    judged = _judged_files(folder, manifest)
    if judged is not None:
        if extract and any(isinstance(one, LeftOut) and one.path == _BLOBS for one in found):
            found += _extract(judged, folder)
        found += _judged(judged, made=made)
    return _sorted(found, manifest)


def _manifest(folder: Folder) -> Manifest | None:
    try:
        return manifests.read(folder)
    except (OSError, ValueError):
        return None


def _sealed_files(manifest: Manifest | None) -> Iterator[tuple[str, str, str | None, int]]:
    """The names in the page and in the manifest, the digest, and what is to be skipped."""
    yield layout.MANIFEST, layout.MANIFEST, None, 0
    if manifest is None:
        yield from ((layout.shown(path), path, None, 0) for path in layout.EVIDENCE_FILES)
    elif manifest.format == compat.FIRST:
        for name, path in compat.evidence_of_first(manifest.files).items():
            skip = len(compat.header_in_first(path, manifest.run_id))
            yield layout.shown(path), name, manifest.files[name].sha256, skip
    else:
        for path, digest in manifest.files.items():
            if path.startswith(f"{layout.EVIDENCE}/"):
                yield _in_page(path), path, digest.sha256, 0


def _in_page(path: str) -> str:
    """No file of a newer Steno, or of somebody's choice, takes the name of something else."""
    return path if layout.shown(path) in _NOT_OF_EVIDENCE else layout.shown(path)


def _judged_files(folder: Folder, manifest: Manifest | None) -> JudgedFiles | None:
    """Of a record without its manifest too, whose events say which run it is."""
    try:
        if manifest is not None:
            return JudgedFiles.of(folder)
        first = next(FolderLayers(folder, "").events(), None)
    except (OSError, ValueError):
        return None
    return None if first is None else JudgedFiles(folder, FolderLayers(folder, first.run_id), "")


def _extract(judged: JudgedFiles, folder: Folder) -> list[Part | LeftOut]:
    content = changed_contents(judged, folder, LARGEST)
    return [Part(EXTRACT, len(content), None, lambda: iter([content]), extract_of=_BLOBS)] if content else []


def _judged(files: JudgedFiles, *, made: bool) -> Iterator[Part | LeftOut]:
    for path in JUDGED:
        try:
            if files.has(path):
                yield _kept(path, files.read(path)) if made else _asked_for(path, files)
        except (OSError, ValueError) as error:
            yield LeftOut(path, None, f"it cannot be made: {_why(error)}")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _asked_for(path: str, files: JudgedFiles) -> Part:
    return Part(path, None, None, lambda: _no_larger(files.read(path), LARGEST_BY_URL, path))


class _TooLargeError(OSError):
    """What is concluded is larger than a page carries, or a server gives."""


def _no_larger(blocks: Iterator[bytes], largest: int, path: str) -> Iterator[bytes]:
    left = largest
    for block in blocks:
        left -= len(block)
        if left < 0:
            raise _TooLargeError(errno.EFBIG, _too_large(largest), path)
        yield block


def _file(
    folder: Folder, path: str, name: str, digest: str | None, skip: int, largest: int
) -> Part | LeftOut:
    size = folder.size(name)
    if size > largest:
        return LeftOut(path, size, _too_large(largest))
    try:
        os.close(folder.open(name))
    except OSError as error:
        return LeftOut(path, size, f"it cannot be read: {error.strerror}")
    return Part(path, size, digest, lambda: iter([folder.read_all(name, largest)]), sealed_as=name, skip=skip)


def _too_large(largest: int) -> str:
    return f"larger than {largest >> 20} MiB"


def _spooled(folder: Folder) -> Parts:
    """Read once and kept, because a run that goes on goes on writing."""
    try:
        with open_record(folder) as record, folder.sub(layout.SPOOL) as spool:
            indexes = filter(spool.has, map(layout.index_of, layout.TAPES))
            found = [
                _kept(layout.shown(path), _whole_lines(path, spool.read(path)))
                for path in (*recorded_files(spool), *indexes)
            ]
            for path, derive in derivations(record.layers).items():
                if path in JUDGED and path != layout.HEALTH:
                    with suppress(OSError, ValueError):  # it needs what is written at the end only
                        found.append(_kept(path, derive(record.layers)))
            found.append(_kept(layout.HEALTH, iter([canonical.encode(so_far.health(record))])))
    except (OSError, UnreadableBundleError):
        return Parts([], [])
    return _sorted(found, None)


def _whole_lines(path: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The events without the one that is being written, or was when its writer was killed."""
    if path != layout.EVENTS:
        yield from blocks
        return
    rest = b""
    for block in blocks:
        whole, newline, rest = (rest + block).rpartition(b"\n")
        yield whole + newline


def _kept(path: str, blocks: Iterator[bytes]) -> Part | LeftOut:
    """Packed as it comes: what is judged of a large run is many times as large in clear."""
    size, digest = 0, hashlib.sha256()

    def looked_at() -> Iterator[bytes]:
        nonlocal size
        for block in _no_larger(blocks, LARGEST, path):
            size += len(block)
            digest.update(block)
            yield block

    try:
        packed = b"".join(_packed(looked_at()))
    except _TooLargeError:
        return LeftOut(path, None, _too_large(LARGEST))
    return Part(path, size, digest.hexdigest(), lambda: iter([gzip.decompress(packed)]), packed)


def _packed(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """With neither a time nor a name in it."""
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    for block in blocks:
        yield packer.compress(block)
    yield packer.flush()


def _sorted(found: list[Part | LeftOut], manifest: Manifest | None) -> Parts:
    found = sorted(found, key=lambda one: (one.path != layout.MANIFEST, one.path))
    return Parts(
        [one for one in found if isinstance(one, Part)],
        [one for one in found if isinstance(one, LeftOut)],
        None if manifest is None else manifest.root,
    )
