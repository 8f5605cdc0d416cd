"""The manifest: one way to write it, and a root over all of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spools import RUN_ID
from steno.bundle import manifest as manifests
from steno.bundle.manifest import BadManifestError, Completeness, FileDigest
from steno.evidence import canonical

MANIFEST = manifests.build(
    RUN_ID,
    Completeness(complete=False, completed=True, gaps=["stream_lost"]),
    {"run.json": FileDigest("0" * 64, 5)},
)


def changed(**changes: Any) -> bytes:
    return canonical.encode({**canonical.decode(manifests.to_bytes(MANIFEST)), **changes})


def test_a_manifest_is_read_back_as_it_was_written() -> None:
    data = manifests.to_bytes(MANIFEST)
    assert manifests.parse(data) == MANIFEST
    assert manifests.to_bytes(manifests.parse(data)) == data
    assert manifests.root_matches(MANIFEST)


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": RUN_ID[:-1] + "e"},
        {"completeness": {"complete": True, "completed": True, "gaps": []}},
        {"files": {}},
        {"files": {"run.json": {"bytes": 6, "sha256": "0" * 64}}},
        {"files": {"run.jsoN": {"bytes": 5, "sha256": "0" * 64}}},
        {"root": "0" * 64},
        {"root": ""},
    ],
)
def test_the_root_covers_every_field(changes: dict[str, Any]) -> None:
    assert not manifests.root_matches(manifests.parse(changed(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "steno.bundle.v2"},
        {"schema": None},
        {"run_id": "../../etc"},
        {"extra": 1},
        {"files": []},
        {"files": {"a": {"bytes": -1, "sha256": ""}}},
        {"files": {"a": {"bytes": 1.5, "sha256": ""}}},
        {"files": {"a": {"bytes": 1}}},
        {"completeness": {"complete": 1, "completed": True, "gaps": []}},
    ],
)
def test_a_manifest_of_another_shape_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadManifestError):
        manifests.parse(changed(**changes))


def test_a_manifest_that_is_not_canonical_is_refused() -> None:
    with pytest.raises(BadManifestError, match="canonical"):
        manifests.parse(manifests.to_bytes(MANIFEST) + b"\n")


@given(st.binary(max_size=80))
def test_random_bytes_are_refused_and_raise_nothing_else(data: bytes) -> None:
    with pytest.raises(BadManifestError):
        manifests.parse(data)
