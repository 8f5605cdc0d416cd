"""The lock: the capabilities of one or more runs, kept as a baseline that later runs are compared with.

In: evidence of runs, or the bytes of a lock file, which may be hostile. Out: canonical bytes that depend on
the runs alone, not on their order; or a checked `Lock`. Evidence that is degraded goes in only when that is
asked for, and the lock then says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from steno.errors import DegradedEvidenceError, UnreadableBundleError
from steno.evidence import canonical
from steno.evidence.run_id import is_run_id
from steno.model import capabilities
from steno.model.capabilities import Told
from steno.views.capability.evidence import Evidence, Source

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
