"""The capabilities of runs: sets of entries, one set a category, which can be joined, and told again as data.

Nobody asks what an entry means on this machine: entries are text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from steno.judge.surface import SCHEMA as SURFACE_SCHEMA
from steno.judge.surface import Surface
from steno.judge.surface_names import WORDS, is_own_log, project
from steno.judge.types import EndpointNames, FileNames, ProgramNames, SocketNames

__all__ = [
    "CATEGORIES",
    "SURFACE_SCHEMA",
    "WORDS",
    "Capabilities",
    "Category",
    "Names",
    "Told",
    "by_name",
    "done",
    "joined",
    "names_of",
    "of_surface",
    "of_told",
    "projected_surface",
    "split_endpoint",
]

Names = Mapping[str, tuple[str, ...]]


class Category(NamedTuple):
    """One set of a surface. An attempt is what only ever failed; it never counts as a capability."""

    group: str
    act: str
    title: str
    is_attempt: bool = False

    @property
    def key(self) -> str:
        return f"{self.group}.{self.act}" if self.act else self.group


_FILES = "files"
CATEGORIES = (
    Category("files", "read", "Files read"),
    Category("files", "written", "Files written"),
    Category("files", "created", "Files created"),
    Category("files", "deleted", "Files deleted"),
    Category("endpoints", "connected", "Endpoints connected to"),
    Category("endpoints", "sent", "Endpoints sent to"),
    Category("endpoints", "bound", "Endpoints bound"),
    Category("unix_sockets", "connected", "Unix sockets connected to"),
    Category("unix_sockets", "bound", "Unix sockets bound"),
    Category("execs", "ran", "Programs run"),
    Category("mcp_tools", "", "MCP tools"),
    Category("policy_decisions", "", "Policy decisions"),
    Category("files", "attempted", "Files that could not be used", is_attempt=True),
    Category("endpoints", "attempted", "Endpoints that could not be reached", is_attempt=True),
    Category("unix_sockets", "attempted", "Unix sockets that could not be used", is_attempt=True),
    Category("execs", "attempted", "Programs that could not be run", is_attempt=True),
)


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Capabilities as a lock file tells them."""

    files: FileNames
    endpoints: EndpointNames
    unix_sockets: SocketNames
    execs: ProgramNames
    mcp_tools: list[str]
    policy_decisions: list[str]
    names: dict[str, list[str]]


class Capabilities(NamedTuple):
    """`entries` has every category; `names` are the DNS names that were seen to stand for an address."""

    entries: Mapping[str, frozenset[str]]
    names: Names

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"names": {address: list(names) for address, names in self.names.items()}}
        for category in CATEGORIES:
            listed = sorted(self.entries[category.key])
            if category.act:
                found.setdefault(category.group, {})[category.act] = listed
            else:
                found[category.group] = listed
        return found


def of_surface(surface: dict[str, Any], *, projected: bool) -> Capabilities:
    """The capabilities that a surface tells; raises `msgspec.ValidationError` for anything else."""
    checked = msgspec.convert(surface, Surface)
    if checked.schema != SURFACE_SCHEMA:
        raise msgspec.ValidationError(f"unknown schema {checked.schema!r}")
    if projected:
        checked = msgspec.convert(projected_surface(surface), Surface)
    own = checked.steno
    return of_told(
        Told(
            own.files,
            own.endpoints,
            own.unix_sockets,
            own.execs,
            checked.mcp_tools,
            checked.policy_decisions,
            own.names,
        )
    )


def projected_surface(surface: dict[str, Any]) -> dict[str, Any]:
    """The surface with the directories of its own run replaced by `$RUN_CWD`, `$HOME` and `$TMP`."""
    return project(surface, surface["steno"]["roots"])


def of_told(told: Told) -> Capabilities:
    entries = {category.key: frozenset(_entries(told, category)) for category in CATEGORIES}
    return Capabilities(entries, {address: _sorted(names) for address, names in told.names.items()})


def joined(many: Iterable[Capabilities]) -> Capabilities:
    """All that any of them has. What one of them could do is not an attempt of the others."""
    found = list(many)
    entries = {
        category.key: frozenset().union(*(one.entries[category.key] for one in found))
        for category in CATEGORIES
    }
    for category in CATEGORIES:
        if category.is_attempt:
            entries[category.key] -= done(entries, category.group)
    addresses = {address for one in found for address in one.names}
    names = {
        address: _sorted(name for one in found for name in one.names.get(address, ()))
        for address in addresses
    }
    return Capabilities(entries, names)


def done(entries: Mapping[str, frozenset[str]], group: str) -> frozenset[str]:
    """Every entry of a group that is more than an attempt."""
    keys = [category.key for category in CATEGORIES if category.group == group and not category.is_attempt]
    return frozenset().union(*(entries[key] for key in keys))


def by_name(one: Capabilities) -> Capabilities:
    """The same, with `name:port` in place of `address:port` wherever a name was seen to stand for it."""
    entries = {
        category.key: frozenset(_named(one.entries[category.key], one.names))
        if category.group == "endpoints"
        else one.entries[category.key]
        for category in CATEGORIES
    }
    return Capabilities(entries, one.names)


def split_endpoint(entry: str) -> tuple[str, str]:
    """Host and port of `1.2.3.4:80`, `[::1]:80` or `name:80`; the port is empty where there is none."""
    host, colon, port = entry.rpartition(":")
    if not colon:
        return entry, ""
    return host.removeprefix("[").removesuffix("]"), port


def names_of(entry: str, names: Names) -> tuple[str, ...]:
    return names.get(split_endpoint(entry)[0], ())


def _named(entries: Iterable[str], names: Names) -> Iterator[str]:
    for entry in entries:
        known = names_of(entry, names)
        port = split_endpoint(entry)[1]
        yield from [f"{name}:{port}" for name in known] or [entry]


def _entries(told: Told, category: Category) -> list[str]:
    group = getattr(told, category.group)
    found: list[str] = getattr(group, category.act) if category.act else group
    if category.group == _FILES:  # that a run tells its recorder something is nothing it can do
        return [name for name in found if not is_own_log(name)]
    return found


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
