"""What was done in the window of each call, in none, and in several at once: numbers of rows, and names."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from steno.judge.call_windows import Outside, Owner, Windows
from steno.judge.surface import Seen


class Exec(NamedTuple):
    """A program that was started, or may have been."""

    process: int
    program: bytes
    asked: bytes  # the program as it was asked for
    argv: tuple[bytes, ...]
    cut: bool

    @property
    def names(self) -> frozenset[bytes]:
        return frozenset(path.rpartition(b"/")[2] for path in (self.program, self.asked))


class Counts:
    """How many rows each call has to itself, and how many it may share with others."""

    def __init__(self) -> None:
        self.alone: Counter[int] = Counter()
        self.shared: Counter[int] = Counter()  # by one call of the group
        self.nobody = 0
        self.by_servers: Counter[str] = Counter()  # of nobody's: what servers did
        self.late: defaultdict[int, set[bytes]] = defaultdict(set)  # changed after each call, maybe for it

    def take(self, owner: Owner | Outside | None, count: int) -> None:
        if not isinstance(owner, Owner):
            self.nobody += count
            if owner is not None and owner.server is not None:
                self.by_servers[owner.server] += count
        elif owner.several:
            self.shared[owner.call] += count
        else:
            self.alone[owner.call] += count


class EffectsOfCalls:
    """What was done in each call, by the agent's own process and by others, in groups, and outside."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.alone: defaultdict[int, Seen] = defaultdict(Seen)
        self.own: defaultdict[int, Seen] = defaultdict(Seen)
        self.shared: defaultdict[int, Seen] = defaultdict(Seen)  # by the call that stands for its group
        self.nobody = Seen()
        self.by_servers: defaultdict[str, Seen] = defaultdict(Seen)
        self.execs: defaultdict[int, list[Exec]] = defaultdict(list)

    def take(self, owner: Owner | Outside | None, seen: Seen, windows: Windows) -> None:
        if not isinstance(owner, Owner):
            self.nobody.add(seen)
            if owner is not None and owner.server is not None:
                self.by_servers[owner.server].add(seen)
        elif owner.several:
            self.shared[windows.groups.of(owner.call)].add(seen)
        else:
            (self.own if owner.own else self.alone)[owner.call].add(seen)
