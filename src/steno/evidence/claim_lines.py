"""The lines of `claims.ndjson`: what the programs of a run told, masked, and in which line of which log.

What a line says is what its teller wrote; nothing is put together or concluded here. Fields that a newer
Steno may have are passed over, and so is a line of a log that is not known.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import msgspec

from steno.evidence import canonical, intake
from steno.evidence.claims import BadClaimError
from steno.evidence.intake import Closed, Decided, Ended, HookTold, Noticed, Opened, PolicyTold, SdkTold, Told

_Kind = TypeVar("_Kind", bound=msgspec.Struct)
_OF_PROXIES: dict[str, type[PolicyTold]] = {
    "opened": Opened,
    "decided": Decided,
    "ended": Ended,
    "noticed": Noticed,
    "closed": Closed,
}
_TAG = "what"


class ToldLine(NamedTuple):
    log: str  # the name that it had in the intake
    line: int  # its number there, from 0 on
    told: Told | None  # None: in a log that only a newer Steno knows


class _Line(msgspec.Struct, frozen=True):
    seq: int
    log: str
    line: int
    told: dict[str, Any]


def write(seq: int, log: str, line: int, told: dict[str, Any]) -> bytes:
    return canonical.encode_line({"seq": seq, "log": log, "line": line, "told": told})


def read(raw: bytes, seq: int, run_id: str) -> ToldLine:
    """A line of this run, and of this number."""
    try:
        found = msgspec.convert(canonical.decode_line(raw), _Line)
        told = _told(found)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadClaimError(str(error)) from None
    if found.seq != seq:
        raise BadClaimError(f"it says it is number {found.seq}")
    if told is not None and told.run_id != run_id:
        raise BadClaimError("it belongs to another run")
    return ToldLine(found.log, found.line, told)


def _told(line: _Line) -> Told | None:
    if line.log == intake.SDK:
        return msgspec.convert(line.told, SdkTold)
    if line.log == intake.HOOKS:
        return _known(line.told, HookTold)
    if intake.policy_log_owner(line.log) is None:
        return None
    kind = _OF_PROXIES.get(str(line.told.get(_TAG)))
    if kind is None:
        raise BadClaimError("no proxy tells such a thing")
    return _known(line.told, kind)


def _known(told: dict[str, Any], kind: type[_Kind]) -> _Kind:
    names = {_TAG, *kind.__struct_fields__}
    return msgspec.convert({name: value for name, value in told.items() if name in names}, kind)
