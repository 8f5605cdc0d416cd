"""The manifest: which files a bundle has, their digests, whether it is complete, and the root of it all.

In: a bundle's inventory. Out: canonical bytes, and the way back with every rule of the format checked.
The root is the SHA-256 of the canonical manifest without its `root`, so it covers every other byte.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec

from steno.evidence import canonical
from steno.evidence.run_id import is_run_id

SCHEMA = "steno.bundle.v1"
MAX_BYTES = 16 << 20


class BadManifestError(ValueError):
    """The bytes are not a manifest of this version."""


class FileDigest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    bytes: Annotated[int, msgspec.Meta(ge=0)]


class Completeness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    complete: bool
    completed: bool  # the command was seen to its end
    gaps: list[str]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    run_id: str
    completeness: Completeness
    files: dict[str, FileDigest]
    root: str


def build(run_id: str, completeness: Completeness, files: dict[str, FileDigest]) -> Manifest:
    body = {"schema": SCHEMA, "run_id": run_id, "completeness": completeness, "files": files}
    return Manifest(SCHEMA, run_id, completeness, files, _root(msgspec.to_builtins(body)))


def to_bytes(manifest: Manifest) -> bytes:
    return canonical.encode(msgspec.to_builtins(manifest))


def parse(data: bytes) -> Manifest:
    try:
        raw = canonical.decode(data)
        manifest = msgspec.convert(raw, Manifest)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadManifestError(f"manifest.json: {error}") from None
    if manifest.schema != SCHEMA:
        raise BadManifestError(f"manifest.json: unknown schema {manifest.schema!r}")
    if not is_run_id(manifest.run_id):
        raise BadManifestError("manifest.json: run_id is malformed")
    return manifest


def root_matches(manifest: Manifest) -> bool:
    body = msgspec.to_builtins(manifest)
    del body["root"]
    return _root(body) == manifest.root


def _root(body: dict[str, Any]) -> str:
    return hashlib.sha256(canonical.encode(body)).hexdigest()
