"""The third seed's rules for health and correlation, as far as a file can be judged by itself.

In: the bytes of `observation-health.json` and `correlation-report.json`, which may be hostile. Out: problems
in words, and what is degraded. That the files follow from the layers is for the verifier to show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from steno.evidence import canonical

_LINUX = "linux"
_COMPLETE, _DROPS, _ABSENT = "complete", "partial_ringbuf_drops", "absent"
_FAILED = "failed"


class BadHealthError(ValueError):
    """A file has another shape, or a value that is not allowed."""


class Health(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["assay.runner.observation_health.v0"]
    run_id: str
    platform: str
    kernel_layer: Literal["complete", "partial_ringbuf_drops", "absent"]
    ringbuf_drops: Annotated[int, msgspec.Meta(ge=0)]
    policy_layer: Literal["present", "absent"]
    sdk_layer: Literal["present", "self_reported", "absent"]
    cgroup_correlation: Literal["clean", "partial", "failed"]
    notes: list[str]
    steno: dict[str, Any]


class Correlation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["assay.runner.correlation_report.v0"]
    run_id: str
    status: Literal["clean", "partial", "failed"]
    bindings: list[dict[str, Any]]
    ambiguities: list[str]


_File = TypeVar("_File", Health, Correlation)


def health(data: bytes) -> Health:
    return _read(data, Health)


def correlation(data: bytes) -> Correlation:
    return _read(data, Correlation)


def health_problems(found: Health, shim: str) -> Iterator[str]:
    """The forced values of the seed; `shim` is the one that the run had."""
    if found.ringbuf_drops and found.kernel_layer != _DROPS:
        yield f"{found.ringbuf_drops} events dropped, and the kernel layer is called {found.kernel_layer}"
    if found.platform != _LINUX and found.kernel_layer != _ABSENT:
        yield f"the kernel layer of {found.platform} is called {found.kernel_layer}"
    if shim == "none" and found.sdk_layer != _ABSENT:
        yield f"there was no shim, and the SDK layer is called {found.sdk_layer}"
    if found.cgroup_correlation == "clean" and found.kernel_layer == _ABSENT:
        yield "a clean correlation of a kernel layer that is absent"


def correlation_problems(found: Correlation, told: Health) -> Iterator[str]:
    kernel_alone = told.policy_layer == told.sdk_layer == _ABSENT
    if found.status == "clean" and (found.ambiguities or not (found.bindings or kernel_alone)):
        yield "a clean correlation that binds nothing of the layers there are, or tells of ambiguities"
    if found.ambiguities != sorted(set(found.ambiguities)):
        yield "the ambiguities are not sorted, each once"


def degraded(found_health: Health, found_correlation: Correlation) -> Iterator[str]:
    """What makes an archive incomplete. A layer that this version does not record is none of it."""
    if found_health.kernel_layer != _COMPLETE:
        yield f"kernel_layer:{found_health.kernel_layer}"
    if found_health.cgroup_correlation == _FAILED:
        yield "cgroup_correlation:failed"
    if found_correlation.status == _FAILED:
        yield "correlation:failed"


def _read(data: bytes, kind: type[_File]) -> _File:
    try:
        return msgspec.convert(canonical.decode(data), kind)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadHealthError(str(error)) from None
