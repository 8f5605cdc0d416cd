"""What the proxies of a run told, put together: its connections, and one decision for every call.

In: the bytes of each proxy's log, which may be hostile, the process that it is named after, and the id of the
run. Out: the connections in the order of their opening, each call with its end joined in, and how much could
not be taken. A line that this proxy would not write there is damage: it is counted and left out. Never raises
for what it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from steno.evidence import canonical, intake, kinds
from steno.evidence.claims import NoticedByProxy, PolicyDetail, PolicyLine, ProcessKey
from steno.evidence.intake import Closed, Decided, Ended, Noticed, Opened, PolicyTold
from steno.record.told_lines import Damage, DamagedError, take_lines

MAX_CONNECTIONS = 10_000
MAX_NOTICED = 100
_EXIT_CODES = range(-(1 << 31), 1 << 31)


class PolicyFold:
    """What the logs of all proxies tell. A connection is told of in one of them."""

    def __init__(self, run_id: str, latest_ns: int) -> None:
        """Times after `latest_ns` have not been yet."""
        self._run_id = run_id
        self._latest_ns = latest_ns
        self._connections: dict[str, Connection] = {}

    def take(self, data: bytes, owner: ProcessKey) -> Damage:
        """One log, and the process that it is named after: nobody else tells of connections there."""
        own: dict[str, Connection] = {}
        damage = take_lines(data, lambda raw: self._take(own, owner, raw))
        return damage + Damage(sum(connection.missing for connection in own.values()))

    @property
    def connections(self) -> list[Connection]:
        """In the order in which they were opened."""
        return sorted(self._connections.values(), key=lambda one: (one.opened_ns, one.name))

    def decisions(self) -> list[PolicyLine]:
        """In the order of time. Their numbers are given when they are written."""
        counted: Counter[str] = Counter()
        found: list[PolicyLine] = []
        for connection in self.connections:
            counted[connection.server] += 1
            found += connection.lines(self._run_id, counted[connection.server])
        return sorted(found, key=lambda line: line.steno.start_ns)

    def _take(self, own: dict[str, Connection], owner: ProcessKey, raw: bytes) -> None:
        told = intake.policy_told(raw)
        if told.run_id != self._run_id or not 0 <= told.at_ns <= self._latest_ns:
            raise DamagedError
        known = own.get(told.connection)
        if isinstance(told, Opened):
            if told.proxy_process != owner or not _is_sane(told):
                raise DamagedError
            if told.connection in self._connections or len(self._connections) == MAX_CONNECTIONS:
                raise DamagedError
            own[told.connection] = self._connections[told.connection] = Connection(told)
        elif known is None:
            raise DamagedError
        else:
            known.take(told)


class Connection:
    """One client and one server, as their proxy told it."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._calls: dict[int, Decided] = {}
        self._ends: dict[int, Ended] = {}
        self._noticed: list[NoticedByProxy] = []
        self._noticed_count = 0
        self._closed: Closed | None = None

    @property
    def name(self) -> str:
        return self._opened.connection

    @property
    def opened_ns(self) -> int:
        return self._opened.at_ns

    def take(self, told: PolicyTold) -> None:
        if told.at_ns < self._opened.at_ns:
            raise DamagedError
        match told:
            case Decided():
                self._decided(told)
            case Ended():
                self._ended(told)
            case Noticed():
                self._noticed_count += 1
                if len(self._noticed) < MAX_NOTICED:
                    word, detail = told.kind[: intake.MAX_NAME], told.detail[: intake.MAX_NAME]
                    self._noticed.append(NoticedByProxy(word, detail, told.at_ns))
            case Closed():
                if self._closed is not None or not _is_exit(told):
                    raise DamagedError
                self._closed = told

    def _decided(self, told: Decided) -> None:
        if told.call in self._calls or told.call < 0 or not told.tool_call_id:
            raise DamagedError
        self._calls[told.call] = told

    def _ended(self, told: Ended) -> None:
        call = self._calls.get(told.call)
        if call is None or told.call in self._ends or told.at_ns < call.at_ns:
            raise DamagedError
        if told.given_ns is not None and not call.at_ns <= told.given_ns <= told.at_ns:
            raise DamagedError
        self._ends[told.call] = told

    @property
    def missing(self) -> int:
        """Calls that should be there, because later ones of this connection are; they count from 0 or 1."""
        if not self._calls:
            return 0
        first = 0 if 0 in self._calls else 1
        return max(self._calls) + 1 - first - len(self._calls)

    @property
    def server(self) -> str:
        return self._opened.server

    def lines(self, run_id: str, place: int) -> Iterator[PolicyLine]:
        """`place` is its number among the connections to its server, from 1 on."""
        for number, call in self._calls.items():
            line = self._line(run_id, call, self._ends.get(number))
            yield msgspec.structs.replace(line, tool_call_id=self._stable_id(call, place))

    def _stable_id(self, call: Decided, place: int) -> str:
        """Of a call that nobody gave an id: one that a second run of the same agent has again."""
        own = {"request": call.request_id, "generated": str(call.call)}.get(call.id_from)
        if own is None or self.name not in call.tool_call_id:
            return call.tool_call_id
        return f"{call.id_from}:{self.server}:{place}:{own}"

    def _line(self, run_id: str, call: Decided, end: Ended | None) -> PolicyLine:
        opened = self._opened
        end_ns, outcome = (end.at_ns, end.outcome) if end is not None else (None, None)
        if end is None and call.decision != "allow" and not opened.dry_run:
            end_ns, outcome = call.at_ns, "denied"  # it went nowhere
        return PolicyLine(
            schema="assay.runner.policy_event.v0",
            run_id=run_id,
            seq=0,
            source_event_type="assay.tool.decision",
            source=opened.source,
            tool_call_id=call.tool_call_id,
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

    def event(self, calls: int) -> kinds.McpConnection:
        """`calls` lines of it are in the layer."""
        opened, closed = self._opened, self._closed
        return kinds.McpConnection(
            connection=opened.connection,
            source=opened.source,
            server=opened.server,
            policy=opened.policy,
            dry_run=opened.dry_run,
            server_process=opened.server_process,
            proxy_process=opened.proxy_process,
            opened_ns=opened.at_ns,
            closed_ns=closed.at_ns if closed else None,
            end=closed.reason if closed else None,
            exit_code=closed.exit_code if closed else None,
            signal=closed.signal if closed else None,
            calls=calls,
            noticed=self._noticed,
            noticed_count=self._noticed_count,
        )


def _is_sane(opened: Opened) -> bool:
    """What it says stands in every line of its calls, so it must be short."""
    names = (opened.connection, opened.source, opened.server, opened.policy)
    keys = (opened.proxy_process, opened.server_process)
    return all(0 < len(name) <= intake.MAX_NAME for name in names) and all(map(is_process, keys))


def is_process(key: ProcessKey | None) -> bool:
    return key is None or all(0 <= number <= canonical.SAFE_INTEGER for number in (key.pid, key.start_ticks))


def _is_exit(closed: Closed) -> bool:
    exits = closed.exit_code is None or closed.exit_code in _EXIT_CODES
    return exits and (closed.signal is None or len(closed.signal) <= intake.MAX_NAME)
