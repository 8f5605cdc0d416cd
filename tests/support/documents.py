"""What is concluded from evidence, as the documents that tell it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steno.bundle.folder import Folder
from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge.contents import Look
from steno.judge.files import state_of
from steno.judge.judgement import Judgement
from steno.model.documents import Documents, state_json
from steno.model.evidence_files import documents_of


def documents(layers: Layers) -> Documents:
    return Documents(Judgement(layers), Path("/record"))


def of_folder(folder: Folder) -> Documents:
    found = documents_of(folder)
    assert found is not None
    return found


def files(layers: Layers) -> Iterator[bytes]:
    return documents(layers).read(layout.FILES)


def processes(layers: Layers) -> Iterator[bytes]:
    return documents(layers).read(layout.PROCESSES)


def accesses(layers: Layers) -> Iterator[bytes]:
    return documents(layers).read(layout.KERNEL_LINES)


def surface(layers: Layers) -> Iterator[bytes]:
    return documents(layers).read(layout.SURFACE)


def health(layers: Layers) -> Iterator[bytes]:
    return documents(layers).read(layout.HEALTH)


def calls(layers: Layers) -> Iterator[bytes]:
    return documents(layers).read(layout.CALLS)


def correlation(layers: Layers) -> Iterator[bytes]:
    return documents(layers).read(layout.CORRELATION)


def state(
    mode: int, *, size: int, mtime_ns: int, uid: int, gid: int, target: bytes | None = None
) -> dict[str, Any]:
    """A state of something that is there, in the words of `files.json`."""
    return state_json(state_of(Look(0, 0, size, mtime_ns, 0, mode, uid, gid, 1, target=target)))
