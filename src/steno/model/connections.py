"""The addresses that a run talked to, and what came of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from steno.evidence.linux_numbers import THERE_ALREADY, UNDER_WAY
from steno.judge import surface_names
from steno.model import rows
from steno.model.kernel_layer import NO_ERROR, Line, Process, bytes_of, whole
from steno.model.sockets_used import Kind, SocketsUsed, words_for

CONNECTED, NOT_SEEN, FAILED = "connected", "attempted, outcome not seen", "refused or failed"
ADDRESS_SET = "address set, sending not seen"
CONNECTED_OR_SET = "connected, or only an address set"
_IS_CONNECTED = {"ok", THERE_ALREADY}
# The kernel goes on without the caller, or was never asked: what came of it is told later, if at all.
_IS_OPEN = {"unknown", *UNDER_WAY}
_CONNECT = "connect"
# In the order in which they are told.
_DONE = {
    _CONNECT: CONNECTED,
    "send": "sent to",
    "bind": "bound",
    "listen": "listened on",
    "accept": "accepted",
}
_NO_ERRNO = "failed"
_INTERNET = {"inet", "inet6"}
_RESULTS = {
    CONNECTED: "connected",
    CONNECTED_OR_SET: "connected_or_set",
    ADDRESS_SET: "address_set",
    NOT_SEEN: "unknown",
}


class Endpoint:
    """One address, and all that was done with it."""

    def __init__(self, address: str, address_b64: str | None) -> None:
        self.address = address
        self.address_b64 = address_b64
        self.operations: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.results_of: defaultdict[str, set[str]] = defaultdict(set)  # by the operation
        self.connects: Counter[str] = Counter()  # the results of these alone, on sockets that can connect
        self.settings: Counter[str] = Counter()  # the same of datagram sockets, which only note an address
        self.either: Counter[str] = Counter()  # and of those that may be the one or the other
        self.sends: Counter[str] = Counter()
        self.processes: set[int] = set()
        self.first_ns = self.last_ns = -1

    @property
    def family(self) -> str:
        """A unix socket that was found has its path for an address."""
        return "unix" if self.address.startswith("/") else self.address.partition(":")[0]

    @property
    def name(self) -> str:
        """`1.2.3.4:80`, `[::1]:80`, or the path of a unix socket."""
        return _name(self.address)

    @property
    def failures(self) -> list[str]:
        """The errors that are known; a connect that is under way is none."""
        under_way = _IS_OPEN | _IS_CONNECTED if self._tried else set()
        return sorted(set(self.results) - NO_ERROR - under_way)

    @property
    def outcome(self) -> str | None:
        """What came of connecting to it; None where nobody tried."""
        if not self._tried:
            return None
        best_first = (
            (self.connects, _IS_CONNECTED, CONNECTED),
            (self.either, _IS_CONNECTED, CONNECTED_OR_SET),
            (self.connects + self.either, _IS_OPEN, NOT_SEEN),
            (self.settings, _IS_CONNECTED, ADDRESS_SET),
            (self.settings, _IS_OPEN, NOT_SEEN),
        )
        return next(
            (words for results, wanted, words in best_first if results.keys() & wanted), _failed(self._tried)
        )

    @property
    def outcomes(self) -> dict[str, str]:
        """What came of all that was tried, by the operation."""
        found = {}
        for operation, done in _DONE.items():
            results = self.results_of.get(operation, set())
            if operation == _CONNECT and self.outcome is not None:
                found[operation] = self.outcome
            elif "ok" in results:
                found[operation] = done
            elif results:
                found[operation] = NOT_SEEN if "unknown" in results else _failed(results)
        return found

    @property
    def calls(self) -> list[str]:
        """The operations, each with its errors; a connect that is under way, or was there, is none."""
        told = []
        for operation in sorted(self.operations):
            no_error = _IS_OPEN | _IS_CONNECTED if operation == _CONNECT else NO_ERROR
            errors = sorted(self.results_of[operation] - no_error)
            told.append(f"{operation} ({', '.join(errors)})" if errors else operation)
        return told

    @property
    def _tried(self) -> Counter[str]:
        return self.connects + self.settings + self.either

    @property
    def was_sent_to(self) -> bool:
        return bool(self.sends.keys() & NO_ERROR)

    def take(self, line: Line, kind: Kind) -> None:
        """`kind`: of the socket, where it is a connect."""
        first, last = whole(line.first_ns), whole(line.last_ns)
        self.first_ns = first if self.first_ns < 0 else min(first, self.first_ns)
        self.last_ns = max(last, self.last_ns)
        self.operations[line.op] += line.count
        self.results[line.result] += line.count
        self.results_of[line.op].add(line.result)
        if line.op == _CONNECT:
            self._connects_of(kind)[line.result] += line.count
        elif line.op == "send":
            self.sends[line.result] += line.count
        self.processes.add(line.process)

    def _connects_of(self, kind: Kind) -> Counter[str]:
        match kind:
            case Kind.DATAGRAM:
                return self.settings
            case Kind.EITHER:
                return self.either
            case Kind.CONNECTING:
                return self.connects

    def to_json(self) -> dict[str, Any]:
        found = {
            "address": self.address,
            "family": self.family,
            "name": self.name,
            "operations": dict(self.operations),
            "results": dict(self.results),
            "outcome": self.outcome,
            "processes": sorted(self.processes),
            "count": self.operations.total(),
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
        }
        return found if self.address_b64 is None else {**found, "address_b64": self.address_b64}


class Network:
    """What one run did on the network. `addressless` are calls on a descriptor whose address is not told."""

    def __init__(self, lines: Iterable[Line], processes: Iterable[Process] = ()) -> None:
        self.sockets: Counter[str] = Counter()
        self.addressless: Counter[str] = Counter()
        lines = list(lines)
        used = SocketsUsed(lines, processes)
        found: dict[str, Endpoint] = {}
        for line in lines:
            if line.op == "socket":
                self.sockets[line.path or "?"] += line.count
            elif line.path is None:
                self.addressless[line.op] += line.count
            elif surface_names.has_peer(line.path):
                key = line.path_b64 or line.path
                one = found.setdefault(key, Endpoint(line.path, line.path_b64))
                one.take(line, used.kind(line, one.family))
        self.endpoints = [one for one in found.values() if one.family != "unix"]
        self.unix = [one for one in found.values() if one.family == "unix"]

    def table_rows(self) -> Iterator[rows.Connection]:
        numbers = count(1)
        for one in (*self.endpoints, *self.unix):
            address = bytes_of(one.address, one.address_b64).decode("utf-8", "backslashreplace")
            outcomes = one.outcomes
            yield rows.Connection(
                connection=next(numbers),
                family=one.family,
                address=address,
                name=_name(address),
                operations=sorted(one.operations),
                calls=one.calls,
                result=_RESULTS.get(one.outcome, "failed") if one.outcome else None,
                outcome=one.outcome,
                came_of_all=_in_words(outcomes),
                all_failed=bool(outcomes) and all(words.startswith(FAILED) for words in outcomes.values()),
                errors=one.failures,
                sent=one.was_sent_to,
                processes=sorted(one.processes),
                times=one.operations.total(),
                first_ns=one.first_ns,
                last_ns=one.last_ns,
            )

    def unaddressed_rows(self) -> Iterator[rows.Unaddressed]:
        sockets: Counter[str] = Counter()
        for numbers, times in sorted(self.sockets.items()):
            sockets[words_for(numbers)] += times
        yield from (rows.Unaddressed("socket", kind, times) for kind, times in sockets.items())
        for operation, times in sorted(self.addressless.items()):
            yield rows.Unaddressed(operation, None, times)


def internet_endpoint(address: bytes) -> str | None:
    """An address and its port as a surface names them; None for what is no address of the internet."""
    found = surface_names.endpoint(address, None, "", other_root=False) if address else None
    return found.name if found and found.is_internet else None


def _name(address: str) -> str:
    family, _, rest = address.partition(":")
    return rest if family in _INTERNET or (family == "unix" and rest) else address


def _failed(errors: Iterable[str]) -> str:
    told = {"errno not seen" if error == _NO_ERRNO else error for error in errors}
    return f"{FAILED}: {', '.join(sorted(told))}"


def _in_words(outcomes: dict[str, str]) -> str | None:
    told = [
        words if operation == _CONNECT or words == _DONE[operation] else f"{operation}: {words}"
        for operation, words in outcomes.items()
    ]
    return "; ".join(told) or None
