"""Which call a moment of a process belongs to: windows of time on subtrees of processes.

It is in the window of one call, of several (ambiguous, never guessed), or of none; and then which server it
belongs to, and which call ended there last. A call has at most one window. Looking up costs the same however
many calls there are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from steno.agents.known import of_all
from steno.evidence import intake_names
from steno.evidence.claims import PolicyLine
from steno.judge.calls.processes import Processes, lives_through
from steno.judge.calls.tool_calls import COMPLETED, STARTED, ToldCall, is_of_hook
from steno.judge.calls.types import Window
from steno.judge.types import Process

# Tools that have other tools called: what they do is what those do.
DELEGATING = of_all(lambda agent: agent.tools.delegate)
# Servers behind servers: beyond that nobody looks further out.
_MOST_NESTED = 64
_NONE = -1
# Ends that the server has no part in: what it does for the call may go on.
_LEFT = frozenset({"cancelled", "client_gone", "server_gone"})


class _Scope:
    """One process with its descendants, and the windows that lie on it."""

    def __init__(self, root: int, *, of_agent: bool, server: str | None = None) -> None:
        self.root = root
        self.of_agent = of_agent
        self.server = server  # its label
        self.windows: list[tuple[int, int, int]] = []  # start, end, call
        self._edges: list[int] = []
        self._calls: list[int] = []  # after each edge: one of the calls whose window is open, or _NONE
        self._several: list[bool] = []
        self._ended: list[int] = []  # after each edge: the call whose window ended last, or _NONE

    def close(self, joined: Groups) -> None:
        """All windows are known. Those that are open at one time form one group."""
        edges = sorted(
            edge for start, end, call in self.windows for edge in ((start, 1, call), (end, 0, call))
        )
        # With one window open, the sum of the numbers of all that are open is the number of that one.
        opened = sum_of_open = 0
        last = ended = _NONE
        for at_ns, opens, call in edges:
            if opens and opened:
                joined.join(call, last)
            opened += 1 if opens else -1
            sum_of_open += call if opens else -call
            last, ended = (call, ended) if opens else (last, call)
            if self._edges and self._edges[-1] == at_ns:
                del self._edges[-1], self._calls[-1], self._several[-1], self._ended[-1]
            self._edges.append(at_ns)
            self._calls.append(_NONE if not opened else sum_of_open if opened == 1 else last)
            self._several.append(opened > 1)
            self._ended.append(ended)

    def segment(self, at_ns: int) -> int:
        return bisect_right(self._edges, at_ns) - 1

    def bounds(self, segment: int) -> tuple[float, float]:
        """From when until before when nothing of it changes."""
        after = segment + 1
        return (
            self._edges[segment] if segment >= 0 else -inf,
            self._edges[after] if after < len(self._edges) else inf,
        )

    def at(self, segment: int) -> tuple[int, bool]:
        return (self._calls[segment], self._several[segment]) if segment >= 0 else (_NONE, False)

    def ended(self, segment: int) -> int:
        return self._ended[segment] if segment >= 0 else _NONE


class Groups:
    """Calls that cannot be told apart, joined pair by pair."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))
        self._sizes = [1] * count

    def of(self, call: int) -> int:
        while self._above[call] != call:
            self._above[call] = self._above[self._above[call]]
            call = self._above[call]
        return call

    def join(self, one: int, other: int) -> None:
        one, other = sorted((self.of(one), self.of(other)))
        if one != other:
            self._above[other] = one
            self._sizes[one] += self._sizes[other]

    def is_ambiguous(self, call: int) -> bool:
        return self._sizes[self.of(call)] > 1


class _Standing(NamedTuple):
    """Where a process stands: the scopes around it, innermost first, and the call that it was born in."""

    scopes: tuple[_Scope, ...] = ()
    born_in: int = _NONE
    handed_on: tuple[_Scope, ...] = ()  # the scopes around what comes of it


class Owner(NamedTuple):
    call: int
    several: bool  # and others of its group
    own: bool  # by the agent's own process


class Outside(NamedTuple):
    """In no window, and on processes that calls have to do with."""

    server: str | None  # in the line of this server
    after: int | None  # the call that it may still belong to: the last one there, or the one it was born in


class Owned(NamedTuple):
    owner: Owner | Outside | None  # None: neither
    start: float  # and so it is from here
    end: float  # until before there


_NOWHERE = _Standing()


class Windows:
    """`groups` is final when every row was asked about: a process may turn out to work in two calls."""

    def __init__(
        self,
        windows: Sequence[Window | None],
        processes: Processes,
        instruments: Iterable[int],
        servers: Mapping[int, str] | None = None,
    ) -> None:
        self.of_call = windows
        self.groups = Groups(len(windows))
        self._processes = processes
        self._scopes: dict[int, list[_Scope]] = {}  # by root: that of a server before that of an agent
        self._instruments = frozenset(instruments)
        self._places: dict[int, _Standing] = {}
        self._open(windows, servers or {})

    def _open(self, windows: Sequence[Window | None], servers: Mapping[int, str]) -> None:
        made = {
            (root, False): _Scope(root, of_agent=False, server=server) for root, server in servers.items()
        }
        for call, window in enumerate(windows):
            if window is None or window.process is None or window.start_ns >= window.end_ns:
                continue
            key = window.process, window.told_by == "hooks"
            scope = made.setdefault(key, _Scope(key[0], of_agent=key[1]))
            scope.windows.append((window.start_ns, window.end_ns, call))
        for (root, _), scope in sorted(made.items()):
            scope.close(self.groups)
            self._scopes.setdefault(root, []).append(scope)

    def is_anywhere(self, process: int) -> bool:
        return bool(self._place(process).scopes)

    def scopes_of(self, process: int) -> Iterator[tuple[int, bool]]:
        """The processes in whose lines it is, and whether each is an agent."""
        return ((scope.root, scope.of_agent) for scope in self._place(process).scopes)

    def owner(self, process: int, at_ns: int) -> Owned:
        place = self._place(process)
        segments = [scope.segment(at_ns) for scope in place.scopes]
        bounds = [scope.bounds(segment) for scope, segment in zip(place.scopes, segments, strict=True)]
        return Owned(
            self._owner(process, place, segments),
            max((start for start, _ in bounds), default=-inf),
            min((end for _, end in bounds), default=inf),
        )

    def owner_of_end(self, process: int, at_ns: int) -> Owner | Outside | None:
        """The end of a process may be seen late: it belongs to the call in which the process was born."""
        if self._place(process).born_in != _NONE:
            at_ns = self._processes.by_number[process].started_ns
        return self.owner(process, at_ns).owner

    def _owner(self, process: int, place: _Standing, segments: Sequence[int]) -> Owner | Outside | None:
        call, several = self._open_at(place.scopes, segments)
        if call == _NONE:
            return _outside(place, segments)
        if place.born_in not in {_NONE, call}:  # it came of another call, and works on in this one
            self.groups.join(place.born_in, call)
            several = True
        inner = place.scopes[0]
        return Owner(call, several, own=inner.of_agent and inner.root == process)

    def _open_at(self, scopes: Sequence[_Scope], segments: Sequence[int]) -> tuple[int, bool]:
        found, several = _NONE, False
        for scope, segment in zip(scopes, segments, strict=True):
            call, more = scope.at(segment)
            if call == _NONE:
                continue
            several = several or more or found != _NONE
            if found != _NONE:
                self.groups.join(found, call)
            found = call if found == _NONE else found
        return found, several

    def _place(self, process: int) -> _Standing:
        if process in self._places:
            return self._places[process]
        below = []
        for number in self._processes.line(process):
            if number in self._places:
                break
            below.append(number)
        for number in reversed(below):
            self._places[number] = self._placed(self._processes.by_number[number])
        return self._places.setdefault(process, _NOWHERE)

    def _placed(self, process: Process) -> _Standing:
        above = self._places.get(process.parent or 0, _NOWHERE)
        is_instrument = process.process in self._instruments
        own = tuple(self._scopes.get(process.process, ()))
        is_server = bool(own) and not own[0].of_agent
        outer = above.handed_on
        if is_server or is_instrument:  # neither is a tool of the agent's own
            outer = tuple(scope for scope in outer if not scope.of_agent)
        scopes = (*own, *outer)[:_MOST_NESTED]
        if is_instrument:  # it works for us, not for a call; what it starts may be a server behind a server
            return _Standing(own, handed_on=scopes)
        if is_server:
            return _Standing(scopes, handed_on=scopes)
        if above.born_in != _NONE:
            return _Standing(scopes, above.born_in, scopes)
        born_in, _ = self._open_at(scopes, [scope.segment(process.started_ns) for scope in scopes])
        return _Standing(scopes, born_in, scopes)


def _outside(place: _Standing, segments: Sequence[int]) -> Outside | None:
    """An agent does much between its calls; what was born in one goes on with it."""
    servers = [
        (scope.server, scope.ended(segment))
        for scope, segment in zip(place.scopes, segments, strict=True)
        if not scope.of_agent
    ]
    server = next((label for label, _ in servers), None)
    ended = servers[0][1] if servers else _NONE
    after = ended if place.born_in == _NONE else place.born_in
    return None if server is None and after == _NONE else Outside(server, None if after == _NONE else after)


def windows(
    calls: Sequence[ToldCall],
    processes: Processes,
    ends: Mapping[str, int],
    instruments: Iterable[int],
    servers: Mapping[int, str],
    run_end_ns: int,
) -> Windows:
    """`ends`: when each connection ended. `instruments`: our proxies and hooks. `servers`: with labels."""
    found = [_window(call, processes, ends, run_end_ns) for call in calls]
    return Windows(found, processes, instruments, servers)


def _window(call: ToldCall, processes: Processes, ends: Mapping[str, int], run_end_ns: int) -> Window | None:
    if call.decision is not None:
        server = processes.of(call.decision.steno.server_process) if call.let_through else None
        return _of_decision(call.decision, server, ends, run_end_ns)
    if not call.by_hooks or call.reused or call.tool in DELEGATING:
        return None
    return _of_hooks(call, processes)


def _of_decision(
    decision: PolicyLine, server: Process | None, ends: Mapping[str, int], run_end_ns: int
) -> Window | None:
    detail = decision.steno
    end_ns = detail.end_ns
    ended_by = str(detail.outcome) if detail.outcome in _LEFT else "answer"
    if end_ns is None:
        end_ns, ended_by = ends.get(detail.connection, run_end_ns), "connection_end"
        ended_by = ended_by if detail.connection in ends else "run_end"
    if not 0 <= detail.start_ns <= end_ns:
        return None
    return Window(detail.start_ns, end_ns, ended_by, "policy", None if server is None else server.process)


def _of_hooks(call: ToldCall, processes: Processes) -> Window | None:
    """Between the hook before and the hook after, both as the kernel saw them."""
    before, after = _hooks(call, STARTED, processes), _hooks(call, COMPLETED, processes)
    if not before or not after:
        return None
    told = processes.writers[intake_names.HOOKS]
    # The end of a process may be seen late, and the agent goes on at once. The hook's last act is to tell us.
    starts = [told.get(process.process, process.ended_ns) for process, _ in before]
    known = [start for start in starts if start is not None]
    last, (first, parent) = before[-1][0], min(after, key=lambda one: one[0].started_ns)
    if not known or max(known) > first.started_ns:
        return None
    start_ns, end_ns = max(known), first.started_ns
    if parent is None or not lives_through(parent, start_ns, end_ns):
        common = processes.nearest_common(last.process, first.process)
        parent = None if common is None else processes.by_number[common]
    if parent is None or not lives_through(parent, start_ns, end_ns):
        return None
    end_ns = max(start_ns, _began_to_run(first, parent, processes))
    return Window(start_ns, end_ns, "hook", "hooks", parent.process)


def _began_to_run(hook: Process, agent: Process, processes: Processes) -> int:
    """When the agent began to run a hook: most do so by way of a shell."""
    for number in processes.line(hook.process):
        process = processes.by_number[number]
        if process.parent == agent.process:
            return process.started_ns
    return hook.started_ns


def _hooks(call: ToldCall, event: str, processes: Processes) -> list[tuple[Process, Process | None]]:
    """The processes of the hooks that told of this event, and who ran them."""
    found = []
    for line in call.said:
        if line.event_type == event and is_of_hook(line) and line.steno is not None:
            process = processes.of(line.steno.process)
            if process is not None:
                found.append((process, processes.of(line.steno.parent)))
    return found
