"""Whether the layers of claims are those that the events tell of.

In: layers that may be hostile, and the facts of their run. Out: what is wrong, as sentences. A layer that
cannot be read raises `BadClaimError`, which is a `ValueError`; on any bytes nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from steno.evidence import kinds, layout
from steno.evidence.claims import PolicyLine
from steno.evidence.layers import Layers
from steno.judge.claim_layers import policy_lines, sdk_lines
from steno.judge.facts import RunFacts

DISTURBED = "intake_disturbed"  # the gap: then the events may tell of less than the layers have


def claim_problems(layers: Layers, facts: RunFacts) -> Iterator[str]:
    decisions, said = policy_lines(layers), len(sdk_lines(layers))
    if any(gap.reason == DISTURBED for gap in facts.gaps):
        return
    yield from _connection_problems(decisions, facts.connections)
    yield from _log_problems(facts)
    told = facts.sdk_intake.lines + facts.sdk_intake.hooks if facts.sdk_intake else 0
    if told != said:
        yield f"{layout.SDK_LINES}: {said} lines, the events tell of {told}"


def _connection_problems(
    decisions: list[PolicyLine], connections: tuple[kinds.McpConnection, ...]
) -> Iterator[str]:
    counted = Counter(line.steno.connection for line in decisions)
    told: Counter[str] = Counter()
    for connection in connections:
        told[connection.connection] += connection.calls
    if counted != +told:
        yield f"{layout.POLICY_LINES}: its calls are not those that the connections tell of"
    known = {_of_connection(connection) for connection in connections}
    for line in decisions:
        if _of_line(line) not in known:
            yield f"{layout.POLICY_LINES}: line {line.seq} is of a connection that no event tells of"
            return


def _log_problems(facts: RunFacts) -> Iterator[str]:
    logs = facts.intake_logs
    if logs is None or logs.policy_left_off:
        return
    named = {log.process for log in logs.policy}
    if not {one.proxy_process for one in facts.connections} <= named:
        yield "the events tell of a connection, and of no log of its proxy"


def _of_connection(one: kinds.McpConnection) -> tuple[object, ...]:
    return (
        one.connection,
        one.source,
        one.server,
        one.policy,
        one.dry_run,
        one.server_process,
        one.proxy_process,
    )


def _of_line(line: PolicyLine) -> tuple[object, ...]:
    own = line.steno
    return (
        own.connection,
        line.source,
        own.server,
        own.policy,
        own.dry_run,
        own.server_process,
        own.proxy_process,
    )
