"""The contract of assay-runner for what an SDK says of itself: a log that is refused at its first fault.

In: the bytes of a log, which may be hostile, and the id of the run. Out: the lines before the fault, and the
fixed word for it with the number of its line. Fields that the contract does not have are dropped; of our own
part under `steno` only what a tool was given and answered, the last words, the time, and that an id was
inferred are taken. Never raises for what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast, get_args

import msgspec

from steno.evidence import canonical, intake
from steno.evidence.claims import SdkDetail, SdkEventType
from steno.evidence.intake import SdkAside, SdkTold

EMPTY = "empty_log"
_TORN = "torn_line"
_TOO_LONG = "line_too_long"
_NO_OBJECT = "not_a_json_object"
_OTHER_SCHEMA = "wrong_schema"
_OTHER_RUN = "wrong_run_id"
_SEQ = "seq_gap"
_TYPE = "unknown_event_type"
_NO_ID = "tool_call_without_id"
_FIELD = "malformed_field"
_TYPES = frozenset(get_args(SdkEventType))
_CALLS = frozenset({"tool_call_started", "tool_call_completed"})


class Taken(NamedTuple):
    lines: list[SdkTold]
    refused: str | None = None
    refused_line: int | None = None


class _RefusedError(ValueError):
    """The word says why."""


def take(data: bytes, run_id: str) -> Taken:
    taken: list[SdkTold] = []
    for number, raw in enumerate(_lines(data)):
        try:
            taken.append(_line(raw, number, run_id))
        except _RefusedError as refused:
            return Taken(taken, str(refused), number)
    return Taken(taken)


def is_call_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= intake.MAX_ID and value.isprintable()


def _lines(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _line(raw: bytes, number: int, run_id: str) -> SdkTold:
    if not raw.endswith(b"\n"):
        raise _RefusedError(_TORN)
    if len(raw) > intake.MAX_LINE:
        raise _RefusedError(_TOO_LONG)
    told = _object(raw)
    if told.get("schema") != intake.SDK_SCHEMA:
        raise _RefusedError(_OTHER_SCHEMA)
    if told.get("run_id") != run_id:
        raise _RefusedError(_OTHER_RUN)
    if type(told.get("seq")) is not int or told["seq"] != number:
        raise _RefusedError(_SEQ)
    event_type = told.get("event_type")
    if not isinstance(event_type, str) or event_type not in _TYPES:
        raise _RefusedError(_TYPE)
    if event_type in _CALLS and not is_call_id(told.get("tool_call_id")):
        raise _RefusedError(_NO_ID)
    source = _name(told, "source")
    if not source:
        raise _RefusedError(_FIELD)
    return SdkTold(
        schema=intake.SDK_SCHEMA,
        run_id=run_id,
        seq=number,
        event_type=cast("SdkEventType", event_type),
        source=source,
        sdk_name=_name(told, "sdk_name"),
        sdk_version=_name(told, "sdk_version"),
        tool_call_id=_name(told, "tool_call_id"),
        tool=_name(told, "tool"),
        steno=_aside(told.get("steno")),
    )


def _object(raw: bytes) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _RefusedError(_NO_OBJECT) from None
    if not isinstance(told, dict):
        raise _RefusedError(_NO_OBJECT)
    return told


def _name(told: dict[str, Any], name: str) -> str | None:
    value = told.get(name)
    if value is not None and (not isinstance(value, str) or len(value) > intake.MAX_NAME):
        raise _RefusedError(_FIELD)
    return value


def _aside(told: Any) -> SdkAside | None:
    """What does not fit is not taken: it is no part of the contract."""
    try:
        found = msgspec.convert(told, SdkDetail)
    except (msgspec.ValidationError, RecursionError):
        return None
    return SdkAside(
        id_from="inferred" if found.id_from == "inferred" else "sdk",
        at_ns=found.at_ns if is_moment(found.at_ns) else None,
        input=found.input,
        output=found.output,
        message=found.message,
        cut=found.cut,
    )


def is_moment(at_ns: int | None) -> bool:
    """A number of nanoseconds that JSON can hold."""
    return at_ns is not None and 0 <= at_ns <= canonical.SAFE_INTEGER
