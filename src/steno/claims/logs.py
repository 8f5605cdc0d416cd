"""The logs in which programs of the run tell: which of their lines are ours to take.

A log may be hostile, and whoever fills one with junk does not make the run wait. The log of an SDK follows
the contract of assay-runner: it ends at its first fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, NamedTuple, cast, get_args

import msgspec

from steno.evidence import canonical, intake
from steno.evidence.claims import FileKey, ProcessKey, SdkDetail, SdkEventType
from steno.evidence.intake import BadIntakeError, HookTold, SdkAside, SdkTold, is_process

TOO_LARGE = "log_too_large"
MAX_LOG = 64 << 20
MAX_PROXIES = 10_000
MOST_DAMAGED = 100


class LogRead(NamedTuple):
    data: bytes
    problem: str | None = None  # a fixed word
    file: FileKey | None = None


class PolicyLog(NamedTuple):
    """The log that is named after a proxy. Whether that process wrote it, the kernel layer says."""

    owner: ProcessKey
    read: LogRead

    @property
    def name(self) -> str:
        return intake.policy_log(self.owner.pid, self.owner.start_ticks)


class Damage(NamedTuple):
    lines: int = 0
    unread: int = 0  # bytes

    def __add__(self, other: Damage) -> Damage:  # type: ignore[override]
        return Damage(self.lines + other.lines, self.unread + other.unread)


def take_lines(data: bytes, take: Callable[[int, bytes], None]) -> Damage:
    """`take` is given each line with its number, and raises `BadIntakeError` for one that is none of ours.

    After too many of those the rest is not read: whoever fills a log with junk does not make the run wait.
    """
    damaged = 0
    log = BytesIO(data)
    for number, raw in enumerate(log):
        try:
            take(number, raw)
        except BadIntakeError:
            damaged += 1
            if damaged == MOST_DAMAGED:
                return Damage(damaged, len(data) - log.tell())
    return Damage(damaged)


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


UNKNOWN = "unknown"


class HookLog(NamedTuple):
    told: list[HookTold]  # all of them, also those that could not be kept
    damage: Damage
    problems: Counter[str]  # how many hooks, by their word for what is wrong


def take_hooks(data: bytes, run_id: str, latest_ns: int, keep: Callable[[int, HookTold], None]) -> HookLog:
    """Times after `latest_ns` have not been yet. `keep` raises `BadIntakeError` for what cannot be kept."""
    found: list[HookTold] = []
    problems: Counter[str] = Counter()

    def take(number: int, raw: bytes) -> None:
        from steno.agents.hook_payload import interpreted  # late: most runs have no hooks

        told = intake.hook_told(raw)
        if told.run_id != run_id or not 0 <= told.at_ns <= latest_ns or not _is_sane(told):
            raise BadIntakeError("of another run, of a time that has not been, or with a name that is none")
        found.append(told)
        read = interpreted(told)
        if read is not None and read.event_type is None:
            problems[(read.problem or UNKNOWN)[: intake.MAX_NAME]] += 1
        keep(number, told)

    damage = take_lines(data, take)
    return HookLog(found, damage, problems)


def _is_sane(told: HookTold) -> bool:
    names = (told.agent, told.sdk_version, told.tool, told.server)
    short = all(name is None or 0 < len(name) <= intake.MAX_NAME for name in names)
    known = told.tool_call_id is None or is_call_id(told.tool_call_id)
    return short and known and is_process(told.process) and is_process(told.parent)
