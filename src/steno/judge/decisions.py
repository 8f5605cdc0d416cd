"""What proxies told, put together: one decision for every call, with its end.

A call that was refused, and of whose end nothing was told, ended when it was decided: it went nowhere. A call
that nobody gave an id gets one that a second run of the same agent has again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from steno.evidence.claims import PolicyDetail, PolicyLine
from steno.evidence.intake import Decided, Ended
from steno.evidence.proxy_logs import Connection

_NOBODYS = ("request", "generated")  # where an id is from that nobody gave


def decisions(connections: Iterable[Connection]) -> list[PolicyLine]:
    """In the order of time, numbered."""
    counted: Counter[str] = Counter()
    found: list[PolicyLine] = []
    for connection in connections:
        counted[connection.opened.server] += 1
        found += _lines(connection, counted[connection.opened.server])
    found.sort(key=lambda line: line.steno.start_ns)
    return [msgspec.structs.replace(line, seq=seq) for seq, line in enumerate(found)]


def _lines(connection: Connection, place: int) -> Iterator[PolicyLine]:
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
