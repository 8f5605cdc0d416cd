"""The policy layer and the SDK layer, read as a whole.

In: layers, which may be hostile. Out: the lines of `policy.ndjson` and of `sdk.ndjson`, or
`BadClaimError`: each is of this run, and they are numbered from 0 without a gap. Decisions stand in the order
of time, and none ends before it begins. A layer that is larger than a recorder writes is refused unread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from steno.evidence import claims, layout
from steno.evidence.claims import BadClaimError, PolicyLine, SdkLine
from steno.evidence.layers import Layers

MAX_LAYER = 128 << 20

_Line = TypeVar("_Line", PolicyLine, SdkLine)


def policy_lines(layers: Layers) -> list[PolicyLine]:
    found = _read(layers, layout.POLICY_LINES, claims.policy_line)
    last_ns = 0
    for line in found:
        start_ns, end_ns = line.steno.start_ns, line.steno.end_ns
        if start_ns < last_ns:
            raise BadClaimError(f"{layout.POLICY_LINES}: line {line.seq} goes back in time")
        if end_ns is not None and end_ns < start_ns:
            raise BadClaimError(f"{layout.POLICY_LINES}: line {line.seq} ends before it begins")
        last_ns = start_ns
    return found


def sdk_lines(layers: Layers) -> list[SdkLine]:
    return _read(layers, layout.SDK_LINES, claims.sdk_line)


def _read(layers: Layers, path: str, parse: Callable[[bytes], _Line]) -> list[_Line]:
    if not layers.has(path):
        return []
    if layers.size(path) > MAX_LAYER:
        raise BadClaimError(f"{path}: longer than {MAX_LAYER} bytes")
    found: list[_Line] = []
    for raw in _lines(layers, path):
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


def _lines(layers: Layers, path: str) -> Iterator[bytes]:
    with layers.open(path) as file:
        yield from file
