"""The files of a record that a page carries: which they are, and each as a block of HTML.

In: a run's folder, which may be hostile. Out: `Part`s with what the manifest says of them, and their bytes,
gzipped and in base64. A file that is too large for a page, or that cannot be read, is named and left out. Of
contents that are too large together, those of changed files come as an extract, which is in no manifest.
Never follows a link, never embeds another file that a manifest does not name, unless there is no manifest
that can be read: then only names that a bundle has. Of a run that is not sealed it carries what the spool has
in clear, and what follows from it.
"""

from __future__ import annotations

import gzip
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.inventory import primary_files
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, layout
from steno.evidence.layers import Layers
from steno.judge.catalogue import Derivation, derivations
from steno.views import so_far
from steno.views.record import open_record
from steno.views.report.extract import EXTRACT, changed_contents

LARGEST = 64 << 20  # of a part that a page carries
LARGEST_BY_URL = 512 << 20  # of one that a page asks for: a browser holds a few of these
_LEVEL = 9
_TAPES = tuple(name for tape in layout.TAPES for name in (tape, layout.index_of(tape)))
_KNOWN = (layout.MANIFEST, *layout.PRIMARY_FILES, *_TAPES, *layout.JUDGED_FILES)


class Part(NamedTuple):
    path: str
    size: int
    sha256: str | None  # what the manifest says; the browser finds out whether it is true
    read: Callable[[], bytes]
    extract_of: str | None = None  # made for the page: no digest in the manifest is its own

    def to_json(self, **where: str) -> dict[str, Any]:
        told = {"path": self.path, "bytes": self.size, "sha256": self.sha256, **where}
        return told if self.extract_of is None else {**told, "extract_of": self.extract_of}


class LeftOut(NamedTuple):
    path: str
    size: int
    why: str


class Parts(NamedTuple):
    inside: list[Part]
    left_out: list[LeftOut]

    @property
    def data(self) -> dict[str, Any]:
        """What the page's data says of its parts."""
        return {
            "parts": [part.to_json(id=f"part-{number}") for number, part in enumerate(self.inside)],
            "left_out": [{"path": one.path, "bytes": one.size, "why": one.why} for one in self.left_out],
        }

    def embedded(self) -> Iterator[bytes]:
        """The elements that carry the bytes, in the order of `data`."""
        for number, part in enumerate(self.inside):
            packed = gzip.compress(part.read(), _LEVEL, mtime=0)
            yield b'<script type="text/plain" id="part-%d">%s</script>\n' % (number, b64encode(packed))


def parts_of(folder: Folder, largest: int = LARGEST, *, extract: bool = True) -> Parts:
    """The manifest first, then the rest by name. `extract`: make one where it is needed, which takes time."""
    if folder.has_folder(layout.SPOOL):
        return _spooled(folder)
    named = {path: digest for path, digest in _named(folder).items() if folder.has(path)}
    found = [_file(folder, path, digest, largest) for path, digest in named.items()]
    if extract and any(isinstance(one, LeftOut) and one.path == layout.BLOBS for one in found):
        found += _extract(folder)
    return _sorted(found)


def _extract(folder: Folder) -> list[Part | LeftOut]:
    content = changed_contents(folder, LARGEST)
    return [Part(EXTRACT, len(content), None, lambda: content, extract_of=layout.BLOBS)] if content else []


def _named(folder: Folder) -> dict[str, str | None]:
    try:
        manifest = manifests.parse(folder.read_all(layout.MANIFEST, manifests.MAX_BYTES))
    except (OSError, ValueError):
        return dict.fromkeys(_KNOWN)
    return {layout.MANIFEST: None, **{path: digest.sha256 for path, digest in manifest.files.items()}}


def _file(folder: Folder, path: str, digest: str | None, largest: int) -> Part | LeftOut:
    size = folder.size(path)
    if size > largest:
        return LeftOut(path, size, _too_large(largest))
    try:
        os.close(folder.open(path))
    except OSError as error:
        return LeftOut(path, size, f"it cannot be read: {error.strerror}")
    return Part(path, size, digest, lambda: folder.read_all(path, largest))


def _too_large(largest: int) -> str:
    return f"larger than {largest >> 20} MiB"


def _spooled(folder: Folder) -> Parts:
    """Read once and kept, because a run that goes on goes on writing."""
    try:
        with open_record(folder) as record, folder.sub(layout.SPOOL) as spool:
            kept = [_kept(path, _whole_lines(path, spool.read(path))) for path in primary_files(spool)]
            made = [_made(path, derive, record.layers) for path, derive in derivations(record.layers).items()]
            observed = _kept(layout.HEALTH, iter([canonical.encode(so_far.health(record))]))
    except (OSError, UnreadableBundleError):
        return Parts([], [])
    others = [one for one in made if one is not None and one.path != layout.HEALTH]
    return _sorted([*kept, *others, observed])


def _made(path: str, derive: Derivation, layers: Layers) -> Part | LeftOut | None:
    """A derived file of what is there so far; None where it needs what is written at the end only."""
    try:
        return _kept(path, derive(layers))
    except (OSError, ValueError):
        return None


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
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > LARGEST:
            return LeftOut(path, len(content), _too_large(LARGEST))
    return Part(path, len(content), None, lambda: bytes(content))


def _sorted(found: list[Part | LeftOut]) -> Parts:
    found = sorted(found, key=lambda one: (one.path != layout.MANIFEST, one.path))
    return Parts(
        [one for one in found if isinstance(one, Part)], [one for one in found if isinstance(one, LeftOut)]
    )
