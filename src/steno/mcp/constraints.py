"""What the arguments of a call must keep to: a schema, directories, addresses.

In: the arguments of a call, which may be hostile. Out: None, or one sentence that says what is not allowed.
Whatever cannot be judged is not allowed, nor is a call without any argument to judge. An argument is found by
its name at every depth, and a name that a careless server would take for it counts as the same: case, `_` and
`-` make no difference. Looks at the file system for links only. Never opens a file, never asks the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from steno.mcp.path_check import Directories
from steno.mcp.url_check import Addresses

LIST_MARK = "[]"  # behind a name: the argument is a list, each of whose entries is checked
MAX_DEPTH = 64
_MAX_QUOTED = 80


class Constraint(Protocol):
    @property
    def reason(self) -> str: ...

    def breach(self, arguments: dict[str, Any]) -> str | None: ...


class PathConstraint(NamedTuple):
    names: ArgumentNames
    directories: Directories
    optional: bool = False  # a call without any of the arguments is let through
    reason: str = "path_not_allowed"

    def breach(self, arguments: dict[str, Any]) -> str | None:
        return _breach(self.names, arguments, self.directories.breach, self.optional)


class UrlConstraint(NamedTuple):
    names: ArgumentNames
    addresses: Addresses
    optional: bool = False  # likewise
    reason: str = "url_not_allowed"

    def breach(self, arguments: dict[str, Any]) -> str | None:
        return _breach(self.names, arguments, self.addresses.breach, self.optional)


class ArgumentNames:
    """The arguments that a constraint is about."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._single = {_alike(name) for name in self.names if not name.endswith(LIST_MARK)}
        self._lists = {
            _alike(name.removesuffix(LIST_MARK)) for name in self.names if name.endswith(LIST_MARK)
        }

    def values(self, arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Each named argument, at any depth; `UNREADABLE` for what is too deep, or should be a list."""
        pending: list[tuple[int, Any]] = [(0, arguments)]
        while pending:
            depth, value = pending.pop()
            if depth > MAX_DEPTH:
                yield "", UNREADABLE
                return
            if isinstance(value, dict):
                for name, item in value.items():
                    yield from self._named(name, item)
                    pending.append((depth + 1, item))
            elif isinstance(value, list):
                pending.extend((depth + 1, item) for item in value)

    def _named(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        alike = _alike(name)
        if alike in self._lists and (isinstance(value, list) or alike not in self._single):
            if not isinstance(value, list):
                yield name, UNREADABLE
                return
            for item in value:
                yield name, item
        elif alike in self._single:
            yield name, value


class _Unreadable:
    """Stands for an argument that no check can read: it is no string, so it is refused."""


UNREADABLE = _Unreadable()


def _breach(
    names: ArgumentNames, arguments: dict[str, Any], judge: Callable[[Any], str | None], optional: bool
) -> str | None:
    is_any = False
    for name, value in names.values(arguments):
        is_any = True
        if (why := judge(value)) is not None:
            return f"The argument {quoted(name)} is not allowed: {why}."
    if is_any or optional:
        return None
    return (
        f"The call needs one of the arguments that the policy checks: {', '.join(map(quoted, names.names))}."
    )


def _alike(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def quoted(name: str) -> str:
    """For a sentence: a name may be hostile and very long."""
    return repr(name if len(name) <= _MAX_QUOTED else name[:_MAX_QUOTED] + "…")
