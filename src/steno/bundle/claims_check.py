"""Whether what programs of the run told is what the events tell of.

In: layers that may be hostile, and the facts of their run. Out: what is wrong, as sentences. Lines that
cannot be read, or that do not follow each other, raise `BadClaimError`, which is a `ValueError`; on any bytes
nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from steno.evidence import compat, intake_names, kinds, layout
from steno.evidence.claims import PolicyLine
from steno.evidence.layers import Layers
from steno.evidence.proxy_logs import Connection
from steno.judge.claims import Claims, claims_of
from steno.judge.facts import RunFacts


def claim_problems(layers: Layers, facts: RunFacts) -> Iterator[str]:
    claims = claims_of(layers)
    if any(gap.reason == intake_names.DISTURBED for gap in facts.gaps):
        return
    if claims.connections is None:
        yield from _folded_problems(claims.policy, facts.connections)
    else:
        yield from _connection_problems(claims.connections, facts.connections)
    yield from _log_problems(claims, facts)
    told = facts.sdk_intake.lines + facts.sdk_intake.hooks if facts.sdk_intake else 0
    if told != claims.agents_lines:
        place = compat.FOLDED_SDK if claims.connections is None else layout.CLAIMS
        yield f"{place}: {claims.agents_lines} lines of agents, the events tell of {told}"


def _connection_problems(
    connections: Sequence[Connection], events: tuple[kinds.McpConnection, ...]
) -> Iterator[str]:
    if Counter(map(_as_told, connections)) != Counter(map(_as_the_event_has_it, events)):
        yield f"{layout.CLAIMS}: its connections are not those that the events tell of"


def _as_told(one: Connection) -> tuple[object, ...]:
    opened, closed = one.opened, one.closed
    return (
        one.name,
        opened.source,
        opened.server,
        opened.policy,
        opened.dry_run,
        opened.server_process,
        opened.proxy_process,
        opened.at_ns,
        (closed.at_ns, closed.reason, closed.exit_code) if closed else (None, None, None),
        len(one.calls),
        one.noticed_count,
    )


def _as_the_event_has_it(one: kinds.McpConnection) -> tuple[object, ...]:
    return (
        *_of_connection(one),
        one.opened_ns,
        (one.closed_ns, one.end, one.exit_code),
        one.calls,
        one.noticed_count,
    )


def _folded_problems(
    decisions: list[PolicyLine], connections: tuple[kinds.McpConnection, ...]
) -> Iterator[str]:
    counted = Counter(line.steno.connection for line in decisions)
    told: Counter[str] = Counter()
    for connection in connections:
        told[connection.connection] += connection.calls
    if counted != +told:
        yield f"{compat.FOLDED_POLICY}: its calls are not those that the connections tell of"
    known = {_of_connection(connection) for connection in connections}
    for line in decisions:
        if _of_line(line) not in known:
            yield f"{compat.FOLDED_POLICY}: line {line.seq} is of a connection that no event tells of"
            return


def _log_problems(claims: Claims, facts: RunFacts) -> Iterator[str]:
    logs = facts.intake_logs
    if logs is None or logs.policy_left_off:
        return
    named = {log.process for log in logs.policy}
    if not claims.proxies <= named or not {one.proxy_process for one in facts.connections} <= named:
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
