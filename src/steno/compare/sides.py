"""The sides of a comparison: runs, archives and lock files, and how far each was observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from steno.errors import BadBundleError, BadRequestError, DegradedEvidenceError, UnreadableBundleError
from steno.evidence import canonical, layout
from steno.evidence.run_id import is_run_id
from steno.model import capabilities
from steno.model.capabilities import Capabilities, Told
from steno.model.record import checked, read_json
from steno.model.run import Readable, Run, Status, Verdict
from steno.model.trust import sound, trusted

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


class Named(NamedTuple):
    """What a word of the command line stands for."""

    word: str
    holds: Evidence | Lock


class Side(NamedTuple):
    word: str
    kind: str
    is_projected: bool
    sources: list[Source]
    capabilities: Capabilities

    @property
    def degraded(self) -> list[str]:
        return [f"{source.run_id} {why}" for source in self.sources for why in source.degraded]

    @property
    def observers(self) -> list[str]:
        return sorted({source.observer for source in self.sources})

    @property
    def title(self) -> str:
        runs = [source.run_id for source in self.sources]
        return runs[0] if self.kind == "run" else f"{self.word} ({len(runs)} run{'s' * (len(runs) != 1)})"


def pair(a: Named, b: Named, *, projected: bool | None) -> tuple[Side, Side]:
    """Both sides in one form: the one that is asked for, else that of a lock, else projected."""
    locks = [one for one in (a, b) if isinstance(one.holds, Lock)]
    forms = {one.holds.is_projected for one in locks if isinstance(one.holds, Lock)}
    if len(forms) > 1:
        raise BadRequestError(
            "one of the locks was made with projections, and the other without",
            hint="make both in the same way, with `steno baseline`",
        )
    form = forms.pop() if forms else projected is not False
    if projected is not None and projected is not form:
        was, other = ("with", "--project") if form else ("without", "--no-project")
        raise BadRequestError(
            f"{locks[0].word} was made {was} projections",
            hint=f"compare with {other}, or make another lock with `steno baseline`",
        )
    return _side(a, projected=form), _side(b, projected=form)


def _side(named: Named, *, projected: bool) -> Side:
    holds = named.holds
    if isinstance(holds, Lock):
        return Side(named.word, "lock", projected, holds.sources, capabilities.of_told(holds.capabilities))
    return Side(named.word, "run", projected, [holds.source], holds.capabilities(projected=projected))


SCHEMA = "steno.capability_lock.v1"
MAX_BYTES = 64 << 20
PROJECTIONS = ["$HOME", "$RUN_CWD", "$TMP"]


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    evidence: Literal["complete", "degraded"]
    projections: list[str]
    sources: list[Source]
    capabilities: Told

    @property
    def is_projected(self) -> bool:
        return bool(self.projections)


class BadLockError(ValueError):
    """The bytes are not a lock of this version."""


def make(runs: Iterable[Evidence], *, projected: bool, accept_partial: bool) -> Lock:
    """The union of what the runs did. A run that is named twice counts once."""
    found = sorted({one.source.root: one for one in runs}.values(), key=lambda one: one.source.run_id)
    degraded = [one.source for one in found if one.source.degraded]
    if degraded and not accept_partial:
        raise DegradedEvidenceError(
            f"{degraded[0].run_id} is not good enough as a baseline: {', '.join(degraded[0].degraded)}",
            hint="record it again, or take it as it is with --accept-partial: the lock will say so",
        )
    joined = capabilities.joined(one.capabilities(projected=projected) for one in found)
    return Lock(
        schema=SCHEMA,
        evidence="degraded" if degraded else "complete",
        projections=PROJECTIONS if projected else [],
        sources=[one.source for one in found],
        capabilities=msgspec.convert(joined.to_json(), Told),
    )


def to_bytes(lock: Lock) -> bytes:
    return canonical.encode_line(msgspec.to_builtins(lock))


def parse(data: bytes) -> Lock:
    """A lock file; unlike a file of a bundle it may have been written in another way, by a formatter."""
    try:
        lock = msgspec.json.decode(data, type=Lock)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadLockError(str(error)) from error
    if lock.schema != SCHEMA:
        raise BadLockError(f"unknown schema {lock.schema!r}")
    if lock.projections not in ([], PROJECTIONS):
        raise BadLockError(f"unknown projections; this version knows {', '.join(PROJECTIONS)}")
    if not lock.sources:
        raise BadLockError("it names no run that it was made from")
    if not all(is_run_id(source.run_id) for source in lock.sources):
        raise BadLockError("the id of a run is malformed")
    if (lock.evidence == "degraded") != any(source.degraded for source in lock.sources):
        raise BadLockError("what it says of its evidence is not what its sources say")
    return lock


def read(data: bytes, name: str) -> Lock:
    try:
        return parse(data)
    except BadLockError as error:
        raise UnreadableBundleError(
            f"{name} is neither a bundle nor a lock file: {error}",
            hint="`steno baseline RUN… -o FILE` makes a lock file",
        ) from error
