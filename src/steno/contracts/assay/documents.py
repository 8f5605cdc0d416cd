"""Surface, health and correlation of a run in the words of assay-runner.

What follows from a record has the same fields under names of our own. Here each gets the schema of the
contract, and the surface of an archive gets ours.
"""

from __future__ import annotations

from typing import Any

from steno.contracts.assay import manifest
from steno.evidence import canonical
from steno.evidence.kinds import ANY_SHIM, NO_SHIM
from steno.model.capabilities import SURFACE_SCHEMA

SCHEMAS = {
    manifest.SURFACE: "assay.runner.capability_surface.v0",
    manifest.HEALTH: "assay.runner.observation_health.v0",
    manifest.CORRELATION: "assay.runner.correlation_report.v0",
}
_KERNEL_ALONE = ["policy_layer_absent", "sdk_layer_absent"]


def in_their_words(name: str, document: bytes, shim: str) -> bytes:
    """The file of an archive; `shim` is the one that was asked for."""
    found = {**canonical.decode(document), "schema": SCHEMAS[name]}
    if name == manifest.CORRELATION and _is_of_kernel_alone(found, shim):
        found |= {"status": "clean", "ambiguities": []}
    return canonical.encode(found)


def surface_in_our_words(surface: dict[str, Any]) -> dict[str, Any]:
    """Of an archive that was verified."""
    return {**surface, "schema": SURFACE_SCHEMA}


def _is_of_kernel_alone(report: dict[str, Any], shim: str) -> bool:
    """Whether the kernel alone was to tell of the run.

    Readers of an archive take that for clean: no join was expected, and its health says which layers are
    absent.
    """
    asked = shim not in {ANY_SHIM, NO_SHIM}
    return not asked and not report["bindings"] and report["ambiguities"] == _KERNEL_ALONE
