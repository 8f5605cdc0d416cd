"""The files of a record as they lie there: by today's names, whatever its format and whatever it lacks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.manifest import Manifest
from steno.bundle.reader import FolderLayers, as_today, event_lines
from steno.bundle.seal import recorded_files
from steno.evidence import compat, layout
from steno.model.documents import Documents
from steno.model.record import documents_over


class EvidenceFile(NamedTuple):
    folder: Folder
    path: str  # by today's name
    name: str  # by which the manifest knows it
    size: int
    sha256: str | None  # as the manifest says
    skip: int = 0  # bytes before a stream, which are none of it

    def read(self, most: int) -> bytes:
        return self.folder.read_all(self.name, most)

    def open(self) -> int:
        return self.folder.open(self.name)

    @property
    def problem(self) -> str | None:
        """Why it cannot be opened."""
        try:
            os.close(self.open())
        except OSError as error:
            return error.strerror
        return None


def evidence_files(folder: Folder) -> Iterator[EvidenceFile]:
    """The manifest, and all that it names; without it all that a record may have."""
    for path, name, sha256, skip in _named(manifest_of(folder)):
        if folder.has(name):
            yield EvidenceFile(folder, path, name, folder.size(name), sha256, skip)


def spooled_files(spool: Folder) -> Iterator[tuple[str, Iterator[bytes]]]:
    """What a run that is not sealed has in clear, by today's names."""
    for path in (*recorded_files(spool), *filter(spool.has, map(layout.index_of, layout.TAPES))):
        yield path, spool.read(path)


def documents_of(folder: Folder) -> Documents | None:
    """What follows from the evidence; without a manifest the events say which run it is."""
    try:
        if (manifest := manifest_of(folder)) is not None:
            evidence = as_today(folder)
            return documents_over(evidence, FolderLayers(evidence, manifest.run_id), manifest.root)
        first = next(FolderLayers(folder, "").events(), None)
    except (OSError, ValueError):
        return None
    return None if first is None else documents_over(folder, FolderLayers(folder, first.run_id), "")


def manifest_of(folder: Folder) -> Manifest | None:
    try:
        return manifests.read(folder)
    except (OSError, ValueError):
        return None


class _StartData(msgspec.Struct):
    cmd_redacted: list[str]


class _Start(msgspec.Struct):
    data: _StartData


def command_alone(folder: Folder) -> list[str] | None:
    """The command of a record that lost something else; None where that cannot be read either."""
    try:
        first = next(event_lines(as_today(folder)), b"")
        return msgspec.json.decode(first, type=_Start).data.cmd_redacted
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _named(manifest: Manifest | None) -> Iterator[tuple[str, str, str | None, int]]:
    yield layout.MANIFEST, layout.MANIFEST, None, 0
    if manifest is None:
        yield from ((path, path, None, 0) for path in layout.EVIDENCE_FILES)
    elif manifest.format == compat.FIRST:
        for name, path in compat.evidence_of_first(manifest.files).items():
            skip = len(compat.header_in_first(path, manifest.run_id))
            yield path, name, manifest.files[name].sha256, skip
    else:
        for path, digest in manifest.files.items():
            if path.startswith(f"{layout.EVIDENCE}/"):
                yield path, path, digest.sha256, 0
