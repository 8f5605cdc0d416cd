"""What may follow what in the logs of proxies, and what they tell of each connection.

A line that this proxy would not write there is refused with `BadIntakeError`, and leaves no trace.
"""

from __future__ import annotations

from steno.evidence import intake
from steno.evidence.claims import NoticedByProxy, ProcessKey
from steno.evidence.intake import (
    BadIntakeError,
    Closed,
    Decided,
    Ended,
    Noticed,
    Opened,
    PolicyTold,
    is_process,
)

MAX_CONNECTIONS = 10_000
MAX_NOTICED = 100
_EXIT_CODES = range(-(1 << 31), 1 << 31)


class ProxyLogs:
    """The logs of all proxies. A connection is told of in one of them."""

    def __init__(self, run_id: str, latest_ns: int) -> None:
        """Times after `latest_ns` have not been yet."""
        self._run_id = run_id
        self._latest_ns = latest_ns
        self._connections: dict[str, Connection] = {}

    @property
    def connections(self) -> list[Connection]:
        """In the order in which they were opened."""
        return sorted(self._connections.values(), key=lambda one: (one.opened.at_ns, one.name))

    @property
    def missing(self) -> int:
        return sum(connection.missing for connection in self._connections.values())

    def take(self, told: PolicyTold, owner: ProcessKey) -> None:
        """A line of the log that is named after `owner`: nobody else tells of connections there."""
        if told.run_id != self._run_id or not 0 <= told.at_ns <= self._latest_ns:
            raise BadIntakeError("of another run, or of a time that has not been")
        known = self._connections.get(told.connection)
        if isinstance(told, Opened):
            if told.proxy_process != owner or not _is_sane(told):
                raise BadIntakeError("a connection of another process, or no connection")
            if known is not None or len(self._connections) == MAX_CONNECTIONS:
                raise BadIntakeError("a connection that was opened before, or one too many")
            self._connections[told.connection] = Connection(told)
        elif known is None or known.opened.proxy_process != owner:
            raise BadIntakeError("of a connection that was not opened in this log")
        else:
            known.take(told)


class Connection:
    """One client and one server, as their proxy told it."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.calls: dict[int, Decided] = {}
        self.ends: dict[int, Ended] = {}
        self.noticed: list[NoticedByProxy] = []
        self.noticed_count = 0
        self.closed: Closed | None = None

    @property
    def name(self) -> str:
        return self.opened.connection

    @property
    def missing(self) -> int:
        """Calls that should be there, because later ones of this connection are; they count from 0 or 1."""
        if not self.calls:
            return 0
        first = 0 if 0 in self.calls else 1
        return max(self.calls) + 1 - first - len(self.calls)

    def take(self, told: PolicyTold) -> None:
        if told.at_ns < self.opened.at_ns:
            raise BadIntakeError("before its connection was opened")
        match told:
            case Decided():
                self._decided(told)
            case Ended():
                self._ended(told)
            case Noticed():
                self.noticed_count += 1
                if len(self.noticed) < MAX_NOTICED:
                    word, detail = told.kind[: intake.MAX_NAME], told.detail[: intake.MAX_NAME]
                    self.noticed.append(NoticedByProxy(word, detail, told.at_ns))
            case Closed():
                if self.closed is not None or not _is_exit(told):
                    raise BadIntakeError("a second end of a connection, or none that can be")
                self.closed = told

    def _decided(self, told: Decided) -> None:
        if told.call in self.calls or told.call < 0 or not told.tool_call_id:
            raise BadIntakeError("a call that was told before, or without a number or an id")
        self.calls[told.call] = told

    def _ended(self, told: Ended) -> None:
        call = self.calls.get(told.call)
        if call is None or told.call in self.ends or told.at_ns < call.at_ns:
            raise BadIntakeError("the end of no call, a second one, or one before its beginning")
        if told.given_ns is not None and not call.at_ns <= told.given_ns <= told.at_ns:
            raise BadIntakeError("a call that was given to its server at another time than it took")
        self.ends[told.call] = told


def _is_sane(opened: Opened) -> bool:
    """What it says stands for all of its calls, so it must be short."""
    names = (opened.connection, opened.source, opened.server, opened.policy)
    keys = (opened.proxy_process, opened.server_process)
    return all(0 < len(name) <= intake.MAX_NAME for name in names) and all(map(is_process, keys))


def _is_exit(closed: Closed) -> bool:
    exits = closed.exit_code is None or closed.exit_code in _EXIT_CODES
    return exits and (closed.signal is None or len(closed.signal) <= intake.MAX_NAME)
