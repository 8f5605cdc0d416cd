"""The network of a run: every address it connected to, bound or sent to.

In: the kernel layer. Out: endpoints as data or as lines that are safe to print; unix sockets apart. The
observer sees a call before it is made, so a connect is an attempt unless its result is told. Never looks up
a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from steno.views import measures
from steno.views.kernel_layer import NO_ERROR, KernelLayer, Line, whole
from steno.views.paint import Paint
from steno.views.plain import columns, cut, listed, pad, visible
from steno.views.process_tree import programs

SCHEMA = "steno.net.v1"
_HEADINGS = ("FIRST", "COUNT", "CALLS", "ENDPOINT", "PROCESSES")
_GAP = "  "
_PROCESSES_SHOWN = 3
_INTERNET = {"inet", "inet6"}
_FAMILIES = {"1": "unix", "2": "inet", "10": "inet6", "16": "netlink", "17": "packet"}
_TYPES = {1: "stream", 2: "datagram", 3: "raw", 5: "seqpacket"}
_TYPE_BITS = 0xF  # above are SOCK_CLOEXEC and SOCK_NONBLOCK


class Endpoint:
    """One address, and all that was done with it."""

    def __init__(self, address: str, address_b64: str | None) -> None:
        self.address = address
        self.address_b64 = address_b64
        self.operations: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.processes: set[int] = set()
        self.first_ns = self.last_ns = -1

    @property
    def family(self) -> str:
        return self.address.partition(":")[0]

    @property
    def name(self) -> str:
        """`1.2.3.4:80`, `[::1]:80`, or the path of a unix socket."""
        family, _, rest = self.address.partition(":")
        return rest if family in _INTERNET or (family == "unix" and rest) else self.address

    @property
    def failures(self) -> list[str]:
        return sorted(set(self.results) - NO_ERROR)

    def take(self, line: Line) -> None:
        first, last = whole(line.first_ns), whole(line.last_ns)
        self.first_ns = first if self.first_ns < 0 else min(first, self.first_ns)
        self.last_ns = max(last, self.last_ns)
        self.operations[line.op] += line.count
        self.results[line.result] += line.count
        self.processes.add(line.process)

    def to_json(self) -> dict[str, Any]:
        found = {
            "address": self.address,
            "family": self.family,
            "name": self.name,
            "operations": dict(self.operations),
            "results": dict(self.results),
            "processes": sorted(self.processes),
            "count": self.operations.total(),
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
        }
        return found if self.address_b64 is None else {**found, "address_b64": self.address_b64}


class Network:
    """What one run did on the network. `addressless` are calls on a descriptor whose address is not told."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.sockets: Counter[str] = Counter()
        self.addressless: Counter[str] = Counter()
        found: dict[str, Endpoint] = {}
        for line in lines:
            if line.op == "socket":
                self.sockets[line.path or "?"] += line.count
            elif line.path is None:
                self.addressless[line.op] += line.count
            else:
                key = line.path_b64 or line.path
                found.setdefault(key, Endpoint(line.path, line.path_b64)).take(line)
        self.endpoints = [one for one in found.values() if one.family != "unix"]
        self.unix = [one for one in found.values() if one.family == "unix"]


def network(layer: KernelLayer) -> Network:
    return Network(layer.lines("net"))


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
    rest = [
        f"{_kind(kind)}: {measures.counted(count, 'socket')}" for kind, count in sorted(found.sockets.items())
    ]
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
    cells = [(*_HEADINGS[:3], heading, _HEADINGS[4]), *(_cells(one, names) for one in found)]
    widths = [max(columns(line[place]) for line in cells) for place in range(len(_HEADINGS))]
    for line, one in zip(cells, [None, *found], strict=True):
        text = _GAP.join(pad(cell, wide) for cell, wide in zip(line, widths, strict=True)).rstrip()
        text = text if width is None else cut(text, width)
        yield paint("heading", text) if one is None else paint("bad", text) if one.failures else text


def _cells(one: Endpoint, names: dict[int, str]) -> tuple[str, ...]:
    calls = ", ".join(sorted(one.operations))
    if one.failures:
        calls += f" ({', '.join(one.failures)})"
    who = [f"{names.get(number, '?')}[{number}]" for number in sorted(one.processes)]
    return (
        measures.duration(one.first_ns),
        str(one.operations.total()),
        visible(calls),
        visible(one.name) or "(unnamed)",
        listed(who, _PROCESSES_SHOWN),
    )


def _kind(numbers: str) -> str:
    """The words for `family:type`, as far as they are known."""
    family, _, kind = numbers.partition(":")
    number = int(kind) & _TYPE_BITS if kind.isascii() and kind.isdigit() else -1
    return f"{_FAMILIES.get(family, f'family {family}')} {_TYPES.get(number, f'type {kind}')}"
