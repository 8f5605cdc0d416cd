"""What policy decided and what an agent said of itself, of the lines that the programs of a run told.

A record of format 1 holds the answer of the Steno that sealed it in two files, and no line as it was told;
it is taken as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from steno.evidence import canonical, compat, layout, told
from steno.evidence.claims import BadClaimError, PolicyLine, ProcessKey, SdkLine
from steno.evidence.intake import BadIntakeError, HookTold, SdkTold, policy_log_owner
from steno.evidence.layers import Layers
from steno.evidence.proxy_logs import Connection, ProxyLogs
from steno.evidence.told import ToldLine
from steno.judge.decisions import decisions
from steno.judge.said import said

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
            found.take(told.read(raw, seq, layers.run_id))
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
