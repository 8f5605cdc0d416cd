"""What programs told, put together: what policy decided, and what an agent said of itself.

A call of which a hook told no id gets one, and it is said to be inferred. What a hook did not understand says
nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import msgspec

from steno.evidence import canonical, claim_lines, compat, layout
from steno.evidence.claim_lines import ToldLine
from steno.evidence.claims import BadClaimError, PolicyDetail, PolicyLine, ProcessKey, SdkDetail, SdkLine
from steno.evidence.intake import BadIntakeError, Decided, Ended, HookTold, SdkTold, policy_log_owner
from steno.evidence.layers import Layers
from steno.evidence.proxy_logs import Connection, ProxyLogs


def said(by_sdk: Iterable[SdkTold], by_hooks: Iterable[HookTold]) -> list[SdkLine]:
    """Numbered."""
    lines = chain(map(_of_sdk, by_sdk), _of_hooks(by_hooks))
    return [msgspec.structs.replace(line, seq=seq) for seq, line in enumerate(lines)]


def _of_sdk(told: SdkTold) -> SdkLine:
    aside = told.steno
    return SdkLine(
        run_id=told.run_id,
        seq=0,
        event_type=told.event_type,
        source=told.source,
        sdk_name=told.sdk_name,
        sdk_version=told.sdk_version,
        tool_call_id=told.tool_call_id,
        tool=told.tool,
        steno=None
        if aside is None
        else SdkDetail(
            id_from=aside.id_from,
            at_ns=aside.at_ns,
            input=aside.input,
            output=aside.output,
            message=aside.message,
            cut=aside.cut,
        ),
    )


def _interpreted(told: HookTold) -> HookTold | None:
    from steno.agents.hook_payload import interpreted  # late: most runs have no hooks

    return interpreted(told)


def _of_hooks(told: Iterable[HookTold]) -> Iterator[SdkLine]:
    read = map(_interpreted, told)
    understood = (one for one in read if one is not None and one.event_type is not None)
    for one, call in with_ids(sorted(understood, key=lambda one: one.at_ns)):
        if one.event_type is not None:
            yield SdkLine(
                run_id=one.run_id,
                seq=0,
                event_type=one.event_type,
                source=one.agent,
                sdk_name=one.agent,
                sdk_version=one.sdk_version,
                tool_call_id=call,
                tool=one.tool,
                steno=SdkDetail(
                    id_from="hook" if call == one.tool_call_id else "inferred",
                    at_ns=one.at_ns,
                    process=one.process,
                    parent=one.parent,
                    server=one.server,
                    input=one.input,
                    output=one.output,
                    message=one.message,
                    cut=one.cut,
                ),
            )


_NOBODYS = ("request", "generated")  # where an id is from that nobody gave


def decisions(connections: Iterable[Connection]) -> list[PolicyLine]:
    """In the order of time, numbered."""
    counted: Counter[str] = Counter()
    found: list[PolicyLine] = []
    for connection in connections:
        counted[connection.opened.server] += 1
        found += _decided_lines(connection, counted[connection.opened.server])
    found.sort(key=lambda line: line.steno.start_ns)
    return [msgspec.structs.replace(line, seq=seq) for seq, line in enumerate(found)]


def _decided_lines(connection: Connection, place: int) -> Iterator[PolicyLine]:
    """`place` is its number among the connections to its server, from 1 on."""
    for number, call in connection.calls.items():
        yield _line(connection, call, connection.ends.get(number), _id(connection, call, place))


def _id(connection: Connection, call: Decided, place: int) -> str:
    if call.id_from not in _NOBODYS or connection.name not in call.tool_call_id:
        return call.tool_call_id
    own = call.request_id if call.id_from == "request" else str(call.call)
    return call.tool_call_id if own is None else f"{call.id_from}:{connection.opened.server}:{place}:{own}"


def _line(connection: Connection, call: Decided, end: Ended | None, id_: str) -> PolicyLine:
    opened = connection.opened
    end_ns, outcome = (end.at_ns, end.outcome) if end is not None else (None, None)
    if end is None and call.decision != "allow" and not opened.dry_run:
        end_ns, outcome = call.at_ns, "denied"
    return PolicyLine(
        run_id=call.run_id,
        seq=0,
        source=opened.source,
        tool_call_id=id_,
        tool=call.tool,
        decision=call.decision,
        steno=PolicyDetail(
            connection=call.connection,
            request_id=call.request_id,
            id_from=call.id_from,
            server=opened.server,
            method=call.method,
            reason=call.reason,
            policy=opened.policy,
            dry_run=opened.dry_run,
            start_ns=call.at_ns if end is None or end.given_ns is None else end.given_ns,
            end_ns=end_ns,
            outcome=outcome,
            server_process=opened.server_process,
            proxy_process=opened.proxy_process,
            read_only=call.read_only,
            arguments=call.arguments,
            arguments_cut=call.arguments_cut,
        ),
    )


MAX_FOLDED = 128 << 20
MAX_CLAIMS = 256 << 20

_Line = TypeVar("_Line", PolicyLine, SdkLine)


class Claims(NamedTuple):
    policy: list[PolicyLine]  # in order of time
    sdk: list[SdkLine]
    agents_lines: int  # those of the SDK log and of hooks
    hooks: frozenset[ProcessKey]  # that told something
    connections: list[Connection] | None  # None: nobody told of them line by line
    proxies: frozenset[ProcessKey]  # after which the logs are named


def claims_of(layers: Layers) -> Claims:
    """Raises `BadClaimError` for what no recorder writes."""
    if not layers.has(layout.CLAIMS) and any(map(layers.has, compat.FOLDED_CLAIMS)):
        return _folded(layers)
    found = _ToldLines(layers.run_id)
    for seq, raw in enumerate(_lines(layers, layout.CLAIMS, MAX_CLAIMS)):
        try:
            found.take(claim_lines.read(raw, seq, layers.run_id))
        except (BadClaimError, BadIntakeError) as error:
            raise BadClaimError(f"{layout.CLAIMS}: line {seq}: {error}") from None
    return found.claims()


class _ToldLines:
    def __init__(self, run_id: str) -> None:
        self._connections = ProxyLogs(run_id, canonical.SAFE_INTEGER)
        self._proxies: set[ProcessKey] = set()
        self._by_sdk: list[SdkTold] = []
        self._by_hooks: list[HookTold] = []
        self._reached: dict[str, int] = {}

    def take(self, one: ToldLine) -> None:
        before = self._reached.get(one.log, -1)
        if one.line <= before:
            raise BadClaimError(f"line {one.line} of {one.log} cannot stand behind line {before}")
        self._reached[one.log] = one.line
        match one.told:
            case None:
                return
            case SdkTold():
                self._by_sdk.append(one.told)
            case HookTold():
                self._by_hooks.append(one.told)
            case _:
                owner = ProcessKey(*(policy_log_owner(one.log) or (0, 0)))
                self._proxies.add(owner)
                self._connections.take(one.told, owner)

    def claims(self) -> Claims:
        connections = self._connections.connections
        return Claims(
            decisions(connections),
            said(self._by_sdk, self._by_hooks),
            len(self._by_sdk) + len(self._by_hooks),
            frozenset(one.process for one in self._by_hooks),
            connections,
            frozenset(self._proxies),
        )


def _folded(layers: Layers) -> Claims:
    policy = _read(layers, compat.FOLDED_POLICY, compat.folded_policy_line)
    last_ns = 0
    for line in policy:
        start_ns, end_ns = line.steno.start_ns, line.steno.end_ns
        if start_ns < last_ns:
            raise BadClaimError(f"{compat.FOLDED_POLICY}: line {line.seq} goes back in time")
        if end_ns is not None and end_ns < start_ns:
            raise BadClaimError(f"{compat.FOLDED_POLICY}: line {line.seq} ends before it begins")
        last_ns = start_ns
    sdk = _read(layers, compat.FOLDED_SDK, compat.folded_sdk_line)
    hooks = (line.steno.process for line in sdk if line.steno is not None and line.steno.id_from != "sdk")
    return Claims(
        policy, sdk, len(sdk), frozenset(one for one in hooks if one is not None), None, frozenset()
    )


def _read(layers: Layers, path: str, parse: Callable[[bytes], _Line]) -> list[_Line]:
    found: list[_Line] = []
    for raw in _lines(layers, path, MAX_FOLDED):
        try:
            line = parse(raw)
        except BadClaimError as error:
            raise BadClaimError(f"{path}: line {len(found)}: {error}") from None
        if line.run_id != layers.run_id:
            raise BadClaimError(f"{path}: line {len(found)} belongs to another run")
        if line.seq != len(found):
            raise BadClaimError(f"{path}: line {len(found)} says it is number {line.seq}")
        found.append(line)
    return found


def _lines(layers: Layers, path: str, most: int) -> Iterator[bytes]:
    if not layers.has(path):
        return
    if layers.size(path) > most:
        raise BadClaimError(f"{path}: longer than {most} bytes")
    with layers.open(path) as file:
        yield from file


PREFIX = "inferred:"
_HEX_DIGITS = 8
_ENDS = {"tool_call_completed"}
_CALLS = {"tool_call_started", *_ENDS}


def with_ids(told: Iterable[HookTold]) -> list[tuple[HookTold, str | None]]:
    """None for what is no call."""
    ids = _Ids()
    return [(each, each.tool_call_id or ids.of(each)) for each in told]


class _Ids:
    def __init__(self) -> None:
        self._given: dict[str, int] = {}
        self._open: dict[tuple[str, str | None, str], deque[str]] = {}

    def of(self, told: HookTold) -> str | None:
        if told.event_type not in _CALLS:
            return None
        open_calls = self._open.setdefault(
            (told.agent, told.session, _digest(told.tool, told.input)), deque()
        )
        if told.event_type in _ENDS and open_calls:
            return open_calls.popleft()
        new = self._new(_digest(told.tool, _names(told.input))[:_HEX_DIGITS])
        if told.event_type not in _ENDS:
            open_calls.append(new)
        return new

    def _new(self, digits: str) -> str:
        self._given[digits] = self._given.get(digits, 0) + 1
        return f"{PREFIX}{digits}:{self._given[digits]}"


def _names(given: Any) -> list[str]:
    return sorted(given) if isinstance(given, dict) else []


def _digest(tool: str | None, given: Any) -> str:
    try:
        data = canonical.encode([tool, given])
    except canonical.NotCanonicalError:  # nested too deep: the name and the order are left
        data = canonical.encode([tool])
    return hashlib.sha256(data).hexdigest()
