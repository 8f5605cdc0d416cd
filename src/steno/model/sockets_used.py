"""Which kind of socket a connect was made on, as far as the record can tell.

In: the lines of the network and the processes. Out: a `Kind`. A connect does not say which socket it is
made on, nor a socket which number it got: a connect is of one kind when every socket that it could be made
on is. That is those that its process made before, and those of its parents that it may have inherited; one
that is closed by exec is not inherited beyond it. Never guesses: where both kinds are possible it says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from steno.model.kernel_layer import Line, Process, whole

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
    def __init__(self, lines: Iterable[Line], processes: Iterable[Process]) -> None:
        self._sockets: defaultdict[int, list[_Socket]] = defaultdict(list)
        for line in lines:
            if line.op == "socket":
                self._sockets[line.process].append(_socket(line))
        self._processes = {one.process: one for one in processes}

    def kind(self, line: Line, family: str) -> Kind:
        """The kind of a connect to an address of a family."""
        until = whole(line.last_ns)
        found = {
            one.is_datagram for one in self._within_reach(line) if one.takes(family) and one.first_ns <= until
        }
        if found == {True}:
            return Kind.DATAGRAM
        return Kind.EITHER if True in found else Kind.CONNECTING

    def _within_reach(self, line: Line) -> Iterable[_Socket]:
        number, until = line.process, whole(line.first_ns)
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
                one.has_started and whole(one.at_ns) <= until for one in process.execs
            )
            number, until = process.parent, whole(process.first_ns)


def words_for(numbers: str) -> str:
    """The words for `family:type`, as far as they are known."""
    family, _, kind = numbers.partition(":")
    number = _number(kind)
    type_of_it = -1 if number is None else number & _TYPE_BITS
    return f"{_FAMILIES.get(family, f'family {family}')} {_TYPES.get(type_of_it, f'type {kind}')}"


def _socket(line: Line) -> _Socket:
    family, _, kind = (line.path or "").partition(":")
    number = _number(kind) or 0
    return _Socket(
        _FAMILIES.get(family),
        number & _TYPE_BITS in _DATAGRAM,
        not number & _CLOSED_BY_EXEC,
        whole(line.first_ns),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
