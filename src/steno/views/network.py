"""The network of a run: every address it connected to, bound or sent to.

In: the kernel layer. Out: endpoints as data or as lines that are safe to print; unix sockets apart. The
observer sees a call before it is made, so a connect is an attempt unless its result is told: `outcome` says
which. On a datagram socket it sends nothing: it sets an address (`sockets_used` tells which socket it may
have been). Addresses without a peer are left out, as they are of the surface. Never looks up a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from steno.evidence.linux_numbers import THERE_ALREADY, UNDER_WAY
from steno.judge import surface_names
from steno.views import measures
from steno.views.kernel_layer import NO_ERROR, KernelLayer, Line, Process, whole
from steno.views.paint import Paint
from steno.views.plain import columns, cut, listed, pad, visible
from steno.views.process_tree import programs
from steno.views.sockets_used import Kind, SocketsUsed, words_for

SCHEMA = "steno.net.v1"
# The page says the same: web/src/panels/network.
CONNECTED, NOT_SEEN, FAILED = "connected", "attempted, outcome not seen", "refused or failed"
ADDRESS_SET = "address set, sending not seen"
CONNECTED_OR_SET = "connected, or only an address set"
_HEADINGS = ("FIRST", "COUNT", "CALLS", "ENDPOINT", "OUTCOME", "PROCESSES")
_AT_ENDPOINT = _HEADINGS.index("ENDPOINT")
_GAP = "  "
_NARROW = 60
_IS_CONNECTED = {"ok", THERE_ALREADY}
# The kernel goes on without the caller, or was never asked: what came of it is told later, if at all.
_IS_OPEN = {"unknown", *UNDER_WAY}
_PROCESSES_SHOWN = 3
_INTERNET = {"inet", "inet6"}


class Endpoint:
    """One address, and all that was done with it."""

    def __init__(self, address: str, address_b64: str | None) -> None:
        self.address = address
        self.address_b64 = address_b64
        self.operations: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
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
        family, _, rest = self.address.partition(":")
        return rest if family in _INTERNET or (family == "unix" and rest) else self.address

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
        failed = f"{FAILED}: {', '.join(sorted(self._tried))}"
        best_first = (
            (self.connects, _IS_CONNECTED, CONNECTED),
            (self.either, _IS_CONNECTED, CONNECTED_OR_SET),
            (self.connects + self.either, _IS_OPEN, NOT_SEEN),
            (self.settings, _IS_CONNECTED, ADDRESS_SET),
            (self.settings, _IS_OPEN, NOT_SEEN),
        )
        return next((words for results, wanted, words in best_first if results.keys() & wanted), failed)

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
        if line.op == "connect":
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


def network(layer: KernelLayer) -> Network:
    return Network(layer.lines("net"), layer.processes())


def to_json(layer: KernelLayer) -> dict[str, Any]:
    found = network(layer)
    return {
        "schema": SCHEMA,
        "run_id": layer.run_id,
        "endpoints": [one.to_json() for one in found.endpoints],
        "unix_sockets": [one.to_json() for one in found.unix],
        "sockets": dict(found.sockets),
        "addressless": dict(found.addressless),
    }


def lines(layer: KernelLayer, paint: Paint, *, width: int | None) -> Iterator[str]:
    found = network(layer)
    names = programs(layer.processes())
    if found.endpoints:
        yield from _table(found.endpoints, "ENDPOINT", names, paint, width)
    if found.unix:
        if found.endpoints:
            yield ""
        yield from _table(found.unix, "UNIX SOCKET", names, paint, width)
    sockets: Counter[str] = Counter()
    for numbers, count in sorted(found.sockets.items()):
        sockets[words_for(numbers)] += count
    rest = [f"{words}: {measures.counted(count, 'socket')}" for words, count in sockets.items()]
    rest += [f"{op} on a descriptor: {count}" for op, count in sorted(found.addressless.items())]
    if rest:
        if found.endpoints or found.unix:
            yield ""
        for words in rest:
            text = visible(words)
            yield paint("faint", text if width is None else cut(text, width))


def _table(
    found: list[Endpoint], heading: str, names: dict[int, str], paint: Paint, width: int | None
) -> Iterator[str]:
    if width is not None and width < _NARROW:
        yield from _stacked(found, heading, paint, width)
        return
    headings = [heading if place == _AT_ENDPOINT else word for place, word in enumerate(_HEADINGS)]
    cells = [tuple(headings), *(_cells(one, names) for one in found)]
    widths = [max(columns(line[place]) for line in cells) for place in range(len(_HEADINGS))]
    for line, one in zip(cells, [None, *found], strict=True):
        text = _GAP.join(pad(cell, wide) for cell, wide in zip(line, widths, strict=True)).rstrip()
        text = text if width is None else cut(text, width)
        yield paint("heading", text) if one is None else paint("bad", text) if one.failures else text


def _stacked(found: list[Endpoint], heading: str, paint: Paint, width: int) -> Iterator[str]:
    """Two lines each on a narrow terminal: the address, then what came of it."""
    yield paint("heading", cut(heading, width))
    for one in found:
        role = "bad" if one.failures else None
        for text in (_shown(one), f"{_GAP}{one.outcome or _calls(one)}"):
            kept = cut(visible(text), width)
            yield paint(role, kept) if role else kept


def _cells(one: Endpoint, names: dict[int, str]) -> tuple[str, ...]:
    who = [f"{names.get(number, '?')}[{number}]" for number in sorted(one.processes)]
    return (
        measures.duration(one.first_ns),
        str(one.operations.total()),
        visible(_calls(one)),
        _shown(one),
        visible(one.outcome or "-"),
        listed(who, _PROCESSES_SHOWN),
    )


def _calls(one: Endpoint) -> str:
    calls = ", ".join(sorted(one.operations))
    return f"{calls} ({', '.join(one.failures)})" if one.failures else calls


def _shown(one: Endpoint) -> str:
    return visible(one.name) or "(unnamed)"
