"""The addresses that a run talked to, and what came of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from steno.evidence.linux_numbers import THERE_ALREADY, UNDER_WAY
from steno.judge import surface_names
from steno.judge.surface_names import text
from steno.judge.types import (
    ADDRESS_SET,
    CONNECTED,
    CONNECTED_OR_SET,
    FAILED,
    NO_ERROR,
    NOT_SEEN,
    Access,
    Connection,
    Process,
    Unaddressed,
)

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
_RESULTS = {
    CONNECTED: "connected",
    CONNECTED_OR_SET: "connected_or_set",
    ADDRESS_SET: "address_set",
    NOT_SEEN: "unknown",
}

_FAMILIES = {"1": "unix", "2": "inet", "10": "inet6", "16": "netlink", "17": "packet"}
_TYPES = {1: "stream", 2: "datagram", 3: "raw", 5: "seqpacket"}
_DATAGRAM = frozenset({2, 3})
_TYPE_BITS = 0xF  # above are SOCK_CLOEXEC and SOCK_NONBLOCK
_CLOSED_BY_EXEC = 0o2000000


class Kind(Enum):
    CONNECTING = "connecting"  # also where no socket was seen being made
    DATAGRAM = "datagram"  # connecting sends nothing: it sets an address
    EITHER = "either"


class _Socket(NamedTuple):
    family: str | None  # None: one that may take any address
    is_datagram: bool
    is_inherited: bool  # also by a program that is executed
    first_ns: int

    def takes(self, family: str) -> bool:
        """Whether it can be given an address of a family; the resolver gives IPv4 ones to IPv6 datagrams."""
        return self.family in {family, None} or (
            self.is_datagram and (self.family, family) == ("inet6", "inet")
        )


class SocketsUsed:
    """Which kind of socket a connect was made on, as far as the record can tell.

    A connect does not say which socket it is made on, nor a socket which number it got: a connect is of one
    kind when every socket that it could be made on is. That is those that its process made before, and those
    of its parents that it may have inherited; one that is closed by exec is not inherited beyond it.
    """

    def __init__(self, accesses: Iterable[Access], processes: Iterable[Process]) -> None:
        self._sockets: defaultdict[int, list[_Socket]] = defaultdict(list)
        for line in accesses:
            if line.operation == "socket":
                self._sockets[line.process].append(_socket(line))
        self._processes = {one.process: one for one in processes}

    def kind(self, line: Access, family: str) -> Kind:
        """The kind of a connect to an address of a family."""
        until = line.last_ns
        found = {
            one.is_datagram for one in self._within_reach(line) if one.takes(family) and one.first_ns <= until
        }
        if found == {True}:
            return Kind.DATAGRAM
        return Kind.EITHER if True in found else Kind.CONNECTING

    def _within_reach(self, line: Access) -> Iterable[_Socket]:
        number, until = line.process, line.first_ns
        has_executed, seen = False, set[int]()
        while number not in seen:
            seen.add(number)
            for one in self._sockets.get(number, ()):
                if one.is_inherited or not has_executed:
                    yield one
            process = self._processes.get(number)
            if process is None:
                return
            has_executed = has_executed or any(
                one.has_started and one.at_ns <= until for one in process.execs
            )
            number, until = process.parent or 0, process.started_ns


class _Endpoint:
    """One address, and all that was done with it."""

    def __init__(self, address: bytes) -> None:
        self.address = address
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
        return "unix" if self.address.startswith(b"/") else text(self.address.partition(b":")[0])

    def connection(self, number: int) -> Connection:
        outcomes = self.outcomes
        return Connection(
            connection=number,
            family=self.family,
            address_bytes=self.address,
            operation_counts=dict(self.operations),
            result_counts=dict(self.results),
            calls=self.calls,
            result=_RESULTS.get(self.outcome, "failed") if self.outcome else None,
            outcome=self.outcome,
            came_of_all=_in_words(outcomes),
            all_failed=bool(outcomes) and all(words.startswith(FAILED) for words in outcomes.values()),
            errors=self.failures,
            sent=bool(self.sends.keys() & NO_ERROR),
            processes=sorted(self.processes),
            first_ns=self.first_ns,
            last_ns=self.last_ns,
        )

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

    def take(self, line: Access, kind: Kind) -> None:
        """`kind`: of the socket, where it is a connect."""
        self.first_ns = line.first_ns if self.first_ns < 0 else min(line.first_ns, self.first_ns)
        self.last_ns = max(line.last_ns, self.last_ns)
        self.operations[line.operation] += line.times
        self.results[line.result] += line.times
        self.results_of[line.operation].add(line.result)
        if line.operation == _CONNECT:
            self._connects_of(kind)[line.result] += line.times
        elif line.operation == "send":
            self.sends[line.result] += line.times
        self.processes.add(line.process)

    def _connects_of(self, kind: Kind) -> Counter[str]:
        match kind:
            case Kind.DATAGRAM:
                return self.settings
            case Kind.EITHER:
                return self.either
            case Kind.CONNECTING:
                return self.connects


class Network:
    """What one run did on the network. `addressless` are calls on a descriptor whose address is not told."""

    def __init__(self, accesses: Iterable[Access], processes: Iterable[Process] = ()) -> None:
        self.sockets: Counter[str] = Counter()
        self.addressless: Counter[str] = Counter()
        accesses = [one for one in accesses if one.category == "net"]
        used = SocketsUsed(accesses, processes)
        found: dict[bytes, _Endpoint] = {}
        for one in accesses:
            if one.operation == "socket":
                self.sockets[text(one.name or b"?")] += one.times
            elif one.name is None:
                self.addressless[one.operation] += one.times
            elif surface_names.has_peer(text(one.name)):
                endpoint = found.setdefault(one.name, _Endpoint(one.name))
                endpoint.take(one, used.kind(one, endpoint.family))
        internet = [one for one in found.values() if one.family != "unix"]
        unix = [one for one in found.values() if one.family == "unix"]
        self.connections = [one.connection(number) for number, one in enumerate((*internet, *unix), 1)]

    @property
    def unaddressed(self) -> list[Unaddressed]:
        sockets: Counter[str] = Counter()
        for numbers, times in sorted(self.sockets.items()):
            sockets[words_for(numbers)] += times
        return [
            *(Unaddressed("socket", kind, times) for kind, times in sockets.items()),
            *(Unaddressed(operation, None, times) for operation, times in sorted(self.addressless.items())),
        ]


def _failed(errors: Iterable[str]) -> str:
    told = {"errno not seen" if error == _NO_ERRNO else error for error in errors}
    return f"{FAILED}: {', '.join(sorted(told))}"


def _in_words(outcomes: dict[str, str]) -> str | None:
    told = [
        words if operation == _CONNECT or words == _DONE[operation] else f"{operation}: {words}"
        for operation, words in outcomes.items()
    ]
    return "; ".join(told) or None


def words_for(numbers: str) -> str:
    """The words for `family:type`, as far as they are known."""
    family, _, kind = numbers.partition(":")
    number = _number(kind)
    type_of_it = -1 if number is None else number & _TYPE_BITS
    return f"{_FAMILIES.get(family, f'family {family}')} {_TYPES.get(type_of_it, f'type {kind}')}"


def _socket(line: Access) -> _Socket:
    family, _, kind = text(line.name or b"").partition(":")
    number = _number(kind) or 0
    return _Socket(
        _FAMILIES.get(family),
        number & _TYPE_BITS in _DATAGRAM,
        not number & _CLOSED_BY_EXEC,
        line.first_ns,
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
