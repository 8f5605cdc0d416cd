"""The manifest: one way to write it, and a root over all of it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.bundle import manifest as manifests
from steno.bundle.manifest import BadManifestError, FileDigest, NewerFormatError
from steno.evidence import canonical
from support.spools import RUN_ID

NAME = "evidence/events.ndjson"
MANIFEST = manifests.build(RUN_ID, {NAME: FileDigest("0" * 64, 5)})


def changed(**changes: Any) -> bytes:
    return canonical.encode({**canonical.decode(manifests.to_bytes(MANIFEST)), **changes})


def test_a_manifest_is_read_back_as_it_was_written() -> None:
    data = manifests.to_bytes(MANIFEST)
    assert manifests.parse(data) == MANIFEST
    assert manifests.to_bytes(manifests.parse(data)) == data
    assert manifests.root_matches(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": RUN_ID[:-1] + "e"},
        {"files": {}},
        {"files": {NAME: {"bytes": 6, "sha256": "0" * 64}}},
        {"files": {NAME.upper(): {"bytes": 5, "sha256": "0" * 64}}},
        {"files": {NAME: {"bytes": 5, "sha256": "0" * 64, "added_later": 1}}},
        {"added_later": 1},
        {"root": "0" * 64},
        {"root": ""},
    ],
)
def test_the_root_covers_every_field(changes: dict[str, Any]) -> None:
    manifests.parse(changed(**changes))
    assert not manifests.root_matches(changed(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 0},
        {"format": 1},
        {"format": "2"},
        {"format": None},
        {"run_id": "../../etc"},
        {"files": []},
        {"files": {"a": {"bytes": -1, "sha256": ""}}},
        {"files": {"a": {"bytes": 1.5, "sha256": ""}}},
        {"files": {"a": {"bytes": 1}}},
    ],
)
def test_a_manifest_of_another_shape_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadManifestError):
        manifests.parse(changed(**changes))


@pytest.mark.parametrize(
    "newer", [{"format": 3}, {"format": 99, "files": None}, {"format": 3, "files": 3, "run_id": None}]
)
def test_a_newer_format_is_told_as_made_by_a_newer_steno_whatever_else_it_holds(
    newer: dict[str, Any],
) -> None:
    with pytest.raises(NewerFormatError, match="newer Steno"):
        manifests.parse(changed(**newer))


def test_what_a_later_steno_adds_to_a_manifest_is_passed_over_and_covered_by_its_root() -> None:
    body = {**canonical.decode(manifests.to_bytes(MANIFEST)), "added_later": {"a": 1}, "completeness": 1}
    del body["root"]
    root = hashlib.sha256(canonical.encode(body)).hexdigest()
    data = canonical.encode({**body, "root": root})
    assert manifests.parse(data).files == MANIFEST.files
    assert manifests.root_matches(data)


def test_a_manifest_that_is_not_canonical_is_refused() -> None:
    with pytest.raises(BadManifestError, match="canonical"):
        manifests.parse(manifests.to_bytes(MANIFEST) + b"\n")


@given(st.binary(max_size=80))
def test_random_bytes_are_refused_and_raise_nothing_else(data: bytes) -> None:
    with pytest.raises(BadManifestError):
        manifests.parse(data)
