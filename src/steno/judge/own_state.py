"""What agents keep for themselves: the paths that an agent's own process may change while it reads.

In: the environment and the place of a run. Out: `OwnState`, which sorts paths into the agent's own, others,
and those of which nobody can say. Never looks at a file. docs/calls.md lists the places.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from steno.agents.known import state_below_home
from steno.agents.made import STATE_VARIABLES
from steno.judge.facts import RunFacts

_TMP = "/tmp"  # noqa: S108 - what programs take when TMPDIR is not set
# Of all programs, agents included: below the home, and below what a variable names.
_STATE_OF_PROGRAMS = (".cache/", ".local/state/")
_STATE_VARIABLES = {"XDG_STATE_HOME": "", "XDG_CACHE_HOME": ""}


class SortedOut(NamedTuple):
    own: list[bytes]
    elsewhere: list[bytes]
    unsure: list[bytes]  # where an agent keeps its state, in the project itself


class OwnState(NamedTuple):
    prefixes: tuple[bytes, ...]  # how the paths begin
    projects: tuple[bytes, ...]  # where the run began, and its repository: nothing below is the agent's own

    @staticmethod
    def of(facts: RunFacts) -> OwnState:
        root = None if facts.before is None else facts.before.root
        places = (place for place in (facts.start.cwd, root) if place)
        return OwnState(
            tuple(_bytes(prefix) for prefix in _prefixes(facts.start.env)),
            tuple(_bytes(f"{place.rstrip('/')}/") for place in places),
        )

    def sorted_out(self, paths: Iterable[bytes]) -> SortedOut:
        found = SortedOut([], [], [])
        for path in paths:
            self._kind(path + b"/", found).append(path)
        return found

    def has(self, path: bytes) -> bool:
        return bool(self.sorted_out([path]).own)

    def _kind(self, path: bytes, found: SortedOut) -> list[bytes]:
        prefixes = [prefix for prefix in self.prefixes if path.startswith(prefix)]
        projects = [project for project in self.projects if path.startswith(project)]
        if not prefixes:
            return found.elsewhere
        if not projects:
            return found.own
        inner, outer = max(prefixes, key=len), max(projects, key=len)
        return found.unsure if inner.startswith(outer) and inner != outer else found.elsewhere


def _prefixes(environment: dict[str, str | None]) -> list[str]:
    found = [environment.get("TMPDIR") or _TMP]
    for variable, below in {**_STATE_VARIABLES, **STATE_VARIABLES}.items():
        directory = environment.get(variable)
        if directory and directory.strip("/"):
            found.append(f"{directory.rstrip('/')}/{below}")
    found = [f"{directory.rstrip('/')}/" for directory in found if directory.strip("/")]
    if home := environment.get("HOME"):
        names = (*sorted(state_below_home()), *_STATE_OF_PROGRAMS)
        found += [f"{home.rstrip('/')}/{name}" for name in names]
    return found


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
