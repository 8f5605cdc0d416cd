"""The parts of a page: files of a record as they lie there, and what was concluded from them."""

from __future__ import annotations

import errno
import gzip
import hashlib
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from steno import __version__
from steno.errors import StenoError, UnreadableBundleError
from steno.evidence import canonical, layout
from steno.judge.types import File
from steno.model import table_documents
from steno.model.contents import ContentsError
from steno.model.evidence_files import EvidenceFile
from steno.model.run import RULES, Documents, Manifest, Run

EXTRACT = f"extract/{layout.shown(layout.BLOBS)}"


def changed_contents(documents: Documents, run: Run, most: int) -> bytes:
    try:
        wanted = _that_fit([file for file in documents.judgement.files.files if file.is_changed], most)
        with run.open_contents() as blobs:
            return blobs.as_kept(wanted.__contains__, most)
    except (StenoError, ContentsError):
        return b""


def _that_fit(changed: list[File], most: int) -> set[str]:
    """Keys of contents, smallest first, as their sizes are told; what they are in truth is seen later."""
    states = (state for one in changed for state in (one.before, one.after))
    sizes = {state.blob: state.size or 0 for state in states if state.blob}
    fitting = set()
    for key, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        most -= max(size, 0)
        if most < 0:
            break
        fitting.add(key)
    return fitting


LARGEST = 64 << 20  # of a part that a page carries
LARGEST_BY_URL = 512 << 20  # of one that a page asks for: a browser holds a few of these
_LEVEL, _GZIP = 9, 31
# The rest of `layout.JUDGED_FILES` is told by tables.
DOCUMENTS = (
    layout.RUN,
    layout.REDACTION_REPORT,
    layout.HEALTH,
    layout.SURFACE,
    layout.CORRELATION,
    layout.REPO_BEFORE,
    layout.REPO_AFTER,
    layout.CAST,
)
JUDGED = (*DOCUMENTS, *table_documents.PATHS)
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


def parts_of(run: Run, largest: int = LARGEST, *, extract: bool = True, made: bool = True) -> Parts:
    """The manifest first, then the rest by name.

    `extract`: make one where it is needed. `made`: make what is judged, else it is made when it is read.
    """
    if run.has_spool:
        return _spooled(run)
    found = [_file(one, largest) for one in run.evidence_files()]
    documents = run.documents_found
    if documents is not None:
        if extract and any(isinstance(one, LeftOut) and one.path == _BLOBS for one in found):
            found += _extract(documents, run)
        found += _judged(documents, made=made)
    return _sorted(found, run.manifest)


def _in_page(path: str) -> str:
    """No file of a newer Steno, or of somebody's choice, takes the name of something else."""
    return path if layout.shown(path) in _NOT_OF_EVIDENCE else layout.shown(path)


def _extract(documents: Documents, run: Run) -> list[Part | LeftOut]:
    content = changed_contents(documents, run, LARGEST)
    return [Part(EXTRACT, len(content), None, lambda: iter([content]), extract_of=_BLOBS)] if content else []


def _judged(files: Documents, *, made: bool) -> Iterator[Part | LeftOut]:
    for path in JUDGED:
        try:
            if _has(files, path):
                yield _kept(path, _read(files, path)) if made else _asked_for(path, files)
        except (OSError, ValueError, UnreadableBundleError) as error:
            yield LeftOut(path, None, f"it cannot be made: {_why(error)}")


def _has(files: Documents, path: str) -> bool:
    return table_documents.has(files, path) if path in table_documents.PATHS else files.has(path)


def _read(files: Documents, path: str) -> Iterator[bytes]:
    return table_documents.read(files, path) if path in table_documents.PATHS else files.read(path)


def _why(error: Exception) -> str:
    if isinstance(error, UnreadableBundleError) and isinstance(error.__cause__, Exception):
        return _why(error.__cause__)  # the same without the place of the record
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _asked_for(path: str, files: Documents) -> Part:
    return Part(path, None, None, lambda: _no_larger(_read(files, path), LARGEST_BY_URL, path))


class _TooLargeError(OSError):
    """What is concluded is larger than a page carries, or a server gives."""


def _no_larger(blocks: Iterator[bytes], largest: int, path: str) -> Iterator[bytes]:
    left = largest
    for block in blocks:
        left -= len(block)
        if left < 0:
            raise _TooLargeError(errno.EFBIG, _too_large(largest), path)
        yield block


def _file(one: EvidenceFile, largest: int) -> Part | LeftOut:
    path = _in_page(one.path)
    if one.size > largest:
        return LeftOut(path, one.size, _too_large(largest))
    if one.problem is not None:
        return LeftOut(path, one.size, f"it cannot be read: {one.problem}")
    return Part(
        path, one.size, one.sha256, lambda: iter([one.read(largest)]), sealed_as=one.name, skip=one.skip
    )


def _too_large(largest: int) -> str:
    return f"larger than {largest >> 20} MiB"


def _spooled(run: Run) -> Parts:
    """Read once and kept, because a run that goes on goes on writing."""
    try:
        found = [
            _kept(layout.shown(path), _whole_lines(path, blocks)) for path, blocks in run.spooled_files()
        ]
        documents = run.record.documents
        for path in JUDGED:
            if path != layout.HEALTH and _has(documents, path):
                with suppress(OSError, ValueError, UnreadableBundleError):  # it needs what comes at the end
                    found.append(_kept(path, _read(documents, path)))
        found.append(_kept(layout.HEALTH, iter([canonical.encode(msgspec.to_builtins(run.health))])))
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
