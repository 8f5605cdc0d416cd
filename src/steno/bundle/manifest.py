"""The manifest: which files a bundle has, their digests, and the root of it all.

The root is the SHA-256 of the canonical manifest without its `root`, so it covers every other byte.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from steno.bundle.folder import Folder
from steno.evidence import canonical, compat, layout
from steno.evidence.run_id import is_run_id

if TYPE_CHECKING:
    from steno.judge.facts import RunFacts

FORMAT = 2
MAX_BYTES = 16 << 20
_FIRST_SCHEMA = "steno.bundle.v1"


class BadManifestError(ValueError):
    """The bytes are not a manifest."""


class NewerFormatError(BadManifestError):
    """A newer Steno made it, in a format that this one does not know."""


class FileDigest(msgspec.Struct, frozen=True):
    sha256: str
    bytes: Annotated[int, msgspec.Meta(ge=0)]


class Completeness(msgspec.Struct, frozen=True):
    """What format 1 says of the events in its manifest."""

    complete: bool
    completed: bool  # the command was seen to its end
    gaps: list[str]


def completeness_of(facts: RunFacts) -> Completeness:
    return Completeness(facts.complete, facts.completed, sorted({gap.reason for gap in facts.gaps}))


class Manifest(msgspec.Struct, frozen=True):
    run_id: str
    files: dict[str, FileDigest]
    root: str
    format: int = FORMAT
    completeness: Completeness | None = None  # of format 1 alone


class _Second(msgspec.Struct, frozen=True):
    format: int
    run_id: str
    files: dict[str, FileDigest]
    root: str


class _First(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    run_id: str
    completeness: Completeness
    files: dict[str, FileDigest]
    root: str


def build(run_id: str, files: dict[str, FileDigest]) -> Manifest:
    return Manifest(run_id, files, _root({"format": FORMAT, "run_id": run_id, "files": files}))


def to_bytes(manifest: Manifest) -> bytes:
    body = {"format": manifest.format, "run_id": manifest.run_id, "files": manifest.files}
    return canonical.encode(msgspec.to_builtins({**body, "root": manifest.root}))


def read(run: Folder) -> Manifest:
    return parse(run.read_all(layout.MANIFEST, MAX_BYTES))


def parse(data: bytes) -> Manifest:
    """Of a format that this Steno knows; what it adds to the manifest later is passed over."""
    try:
        raw = canonical.decode(data)
        _refuse_newer(raw)
        manifest = _second(raw) if isinstance(raw, dict) and "format" in raw else _first(raw)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadManifestError(f"manifest.json: {error}") from None
    if not is_run_id(manifest.run_id):
        raise BadManifestError("manifest.json: run_id is malformed")
    return manifest


def _refuse_newer(raw: Any) -> None:
    """First of all: nothing else of it need be as it is today."""
    said = raw.get("format") if isinstance(raw, dict) else None
    if isinstance(said, int) and said > FORMAT:
        raise NewerFormatError(
            f"manifest.json: made by a newer Steno, in format {said}; this one reads up to {FORMAT}"
        )


def root_matches(data: bytes) -> bool:
    """Whether the root is that of the rest, whatever the rest says."""
    body = canonical.decode(data)
    return isinstance(body, dict) and _root(body) == body.get("root")


def _second(raw: dict[str, Any]) -> Manifest:
    found = msgspec.convert(raw, _Second)
    if found.format != FORMAT:
        raise BadManifestError("manifest.json: it says no format that there is")
    return Manifest(found.run_id, found.files, found.root)


def _first(raw: Any) -> Manifest:
    found = msgspec.convert(raw, _First)
    if found.schema != _FIRST_SCHEMA:
        raise BadManifestError(f"manifest.json: unknown schema {found.schema!r}")
    return Manifest(found.run_id, found.files, found.root, compat.FIRST, found.completeness)


def _root(body: dict[str, Any]) -> str:
    rest = {name: value for name, value in body.items() if name != "root"}
    return hashlib.sha256(canonical.encode(msgspec.to_builtins(rest))).hexdigest()
