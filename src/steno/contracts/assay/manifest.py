"""Which files an archive of the assay-runner contract has, and its manifest: their lengths and digests.

The manifest lists the other files, never itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Protocol

import msgspec

from steno.evidence import canonical, compat
from steno.evidence.run_id import is_run_id

SCHEMA = "assay.runner.archive_manifest.v0"
MAX_BYTES = 1 << 20
EVENTS = "events.ndjson"
SURFACE = "capability-surface.json"
HEALTH = "observation-health.json"
CORRELATION = "correlation-report.json"
KERNEL_LINES = "layers/kernel.ndjson"
POLICY_LINES = "layers/policy.ndjson"
SDK_LINES = "layers/sdk.ndjson"
KERNEL_TABLE = "steno/syscalls.parquet"  # ours: what the lines are made of, and health and surface
FILES = (
    SURFACE,
    CORRELATION,
    EVENTS,
    KERNEL_LINES,
    POLICY_LINES,
    SDK_LINES,
    HEALTH,
    KERNEL_TABLE,
)
CLAIM_LAYERS = {compat.FOLDED_POLICY: POLICY_LINES, compat.FOLDED_SDK: SDK_LINES}  # as format 1 has them
_DIGEST = "sha256:"


class BadArchiveManifestError(ValueError):
    """The bytes are not a manifest of such an archive."""


class Kept(Protocol):
    """Where the files of an archive are."""

    def read(self, path: str) -> Iterator[bytes]: ...

    def size(self, path: str) -> int: ...


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    sha256: str
    bytes: Annotated[int, msgspec.Meta(ge=0)]


class ArchiveManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    run_id: str
    files: dict[str, Listed]


def is_one(data: bytes) -> bool:
    """Whether these bytes say that they are such a manifest, right or wrong."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
    return isinstance(raw, dict) and raw.get("schema") == SCHEMA


def build(run_id: str, made: Kept) -> bytes:
    files = {path: Listed(path, digest(made.read(path)), made.size(path)) for path in FILES}
    return canonical.encode(msgspec.to_builtins(ArchiveManifest(SCHEMA, run_id, files)))


def digest(blocks: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for block in blocks:
        found.update(block)
    return _DIGEST + found.hexdigest()


def parse(data: bytes) -> ArchiveManifest:
    try:
        found = msgspec.convert(canonical.decode(data), ArchiveManifest)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadArchiveManifestError(str(error)) from None
    if found.schema != SCHEMA:
        raise BadArchiveManifestError(f"unknown schema {found.schema!r}")
    if not is_run_id(found.run_id):
        raise BadArchiveManifestError("run_id is malformed")
    if any(listed.path != path for path, listed in found.files.items()):
        raise BadArchiveManifestError("a file is listed under another name than its own")
    return found
