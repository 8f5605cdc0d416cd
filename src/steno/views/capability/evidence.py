"""The evidence behind capabilities: one verified run, and how far it can be relied on.

In: a run or an assay-runner archive, which may be hostile. Out: its surface as data, and a
`Source` that says which run it was, which observer saw it and what is missing. Verification has made the
surface again from the layers, so it is read here as it stands. Never passes on a bundle that is not what it
says it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from steno.errors import BadBundleError, BadRequestError, UnreadableBundleError
from steno.evidence import layout
from steno.model import capabilities
from steno.model.capabilities import Capabilities
from steno.model.record import checked, read_json
from steno.model.run import Readable, Run, Status, Verdict
from steno.views.export import sound, trusted

KernelLayer = Literal["complete", "partial", "absent"]
_KERNEL_LAYERS: dict[str, KernelLayer] = {
    "complete": "complete",
    "partial_ringbuf_drops": "partial",
    "absent": "absent",
}
_CORRELATION_FAILED = "failed"
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Observer = Annotated[str, msgspec.Meta(pattern="^[a-z]{1,16}$")]


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run that capabilities come from."""

    run_id: str
    root: _Digest
    observer: _Observer
    kernel_layer: KernelLayer
    cgroup_correlation: Literal["clean", "partial", "failed"]
    complete: bool
    gaps: list[str]

    @property
    def degraded(self) -> list[str]:
        """Why an entry that is not there may have been there all the same."""
        found = [] if self.complete else [f"incomplete:{gap}" for gap in self.gaps] or ["incomplete"]
        if self.kernel_layer != "complete":
            found.append(f"kernel_layer_{self.kernel_layer}")
        if self.cgroup_correlation == _CORRELATION_FAILED:
            found.append("cgroup_correlation_failed")
        return found


class Evidence(NamedTuple):
    source: Source
    surface: dict[str, Any]

    def capabilities(self, *, projected: bool) -> Capabilities:
        return capabilities.of_surface(self.surface, projected=projected)


class _OwnHealth(msgspec.Struct, frozen=True):
    observer: _Observer


class _Health(msgspec.Struct, frozen=True):
    kernel_layer: str
    cgroup_correlation: Literal["clean", "partial", "failed"]
    steno: _OwnHealth


def read_surface(run: Readable) -> dict[str, Any]:
    """The surface of a run, its shape checked."""
    return _checked(run, read_json(run, layout.SURFACE, dict[str, Any]))


def verified_evidence(run: Run) -> Evidence:
    with _usable():
        verdict = trusted(run, layout.SURFACE, layout.HEALTH)
    return _evidence(run.documents, verdict, read_surface(run.documents))


def evidence_of_archive(path: Path) -> Evidence:
    """Of an assay-runner archive, whose surface was made again from its lines as well."""
    from steno.contracts.assay import verify as assay  # late: tarfile is slow to start, and rarely needed
    from steno.contracts.assay.documents import surface_in_our_words

    with assay.opened(path) as (verdict, files):
        with _usable():
            sound(verdict, path)
        surface = surface_in_our_words(read_json(files, layout.SURFACE, dict[str, Any]))
        return _evidence(files, verdict, _checked(files, surface))


@contextmanager
def _usable() -> Iterator[None]:
    try:
        yield
    except (BadBundleError, BadRequestError) as error:  # their codes mean something else here
        raise UnreadableBundleError(str(error), hint=error.hint) from error


def _checked(run: Readable, surface: dict[str, Any]) -> dict[str, Any]:
    with checked(run, layout.SURFACE):
        capabilities.of_surface(surface, projected=False)
    return surface


def _evidence(run: Readable, verdict: Verdict, surface: dict[str, Any]) -> Evidence:
    health = read_json(run, layout.HEALTH, _Health)
    with checked(run, layout.HEALTH):
        source = Source(
            run_id=verdict.run_id or "",
            root=verdict.root or "",
            observer=health.steno.observer,
            kernel_layer=_KERNEL_LAYERS[health.kernel_layer],
            cgroup_correlation=health.cgroup_correlation,
            complete=verdict.status is Status.VALID,
            gaps=sorted(set(verdict.gaps)),
        )
    return Evidence(source, surface)
