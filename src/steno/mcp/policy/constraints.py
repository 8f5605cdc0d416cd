"""What the arguments of a call must keep to: names of arguments, directories, addresses.

Whatever cannot be judged is not allowed, nor is a call without any argument to judge. An argument is found by
its name at every depth, and a name that a careless server would take for it counts as the same: case, `_` and
`-` make no difference. The file system is looked at for links only; the network is never asked.
"""

from __future__ import annotations

import ipaddress
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from steno.mcp.policy.globs import Globs

LIST_MARK = "[]"  # behind a name: the argument is a list, each of whose entries is checked
MAX_DEPTH = 64
_MAX_QUOTED = 80
_MOST_DECODINGS = 4
_FIRST_PRINTABLE = " "
_DELETE = "\x7f"
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
DEFAULT_SCHEMES = ("https",)
MAX_PORT = 65535
_MAX_HOST = 253
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([/?#].*)?")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


class Constraint(Protocol):
    @property
    def reason(self) -> str: ...

    def violation(self, arguments: dict[str, Any]) -> str | None: ...


class PathConstraint(NamedTuple):
    names: ArgumentNames
    directories: PathAllowlist
    optional: bool = False  # a call without any of the arguments is let through
    reason: str = "path_not_allowed"

    def violation(self, arguments: dict[str, Any]) -> str | None:
        return _violation(self.names, arguments, self.directories.violation, self.optional)


class UrlConstraint(NamedTuple):
    names: ArgumentNames
    addresses: UrlAllowlist
    optional: bool = False  # likewise
    reason: str = "url_not_allowed"

    def violation(self, arguments: dict[str, Any]) -> str | None:
        return _violation(self.names, arguments, self.addresses.violation, self.optional)


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


def _violation(
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


# --- paths ----------------------------------------------------------------------------------------------


class PathAllowlist:
    """A path that two programs could read in two ways is refused; where a reader might decode or normalise
    it, each reading must lie under a directory too. Who changes a link between check and use is not seen."""

    def __init__(self, directories: Iterable[str]) -> None:
        """`directories` are absolute."""
        self.directories = tuple(os.path.normpath(directory) for directory in directories)
        resolved = [os.path.realpath(directory) for directory in self.directories]
        self._resolved = tuple(dict.fromkeys(resolved))
        self._written = tuple(dict.fromkeys([*self.directories, *resolved]))

    def violation(self, path: Any) -> str | None:
        if not isinstance(path, str):
            return "it is not a path"
        try:
            for reading in _readings(path):
                if (why := self._reading_violation(reading)) is not None:
                    return why
        except (OSError, ValueError):
            return "it cannot be followed to its end"
        return None

    def _reading_violation(self, path: str) -> str | None:
        if why := _malformed(path):
            return why
        written = "/" + "/".join(part for part in path.split("/") if part not in {"", "."})
        if not _is_under(written, self._written):
            return "it is outside of the directories that the policy names"
        if not _is_under(_resolve(written), self._resolved):
            return "a link leads out of the directories that the policy names"
        return None


def _readings(path: str) -> Iterator[str]:
    """The path, and what it becomes for a reader that decodes percent signs or normalises characters."""
    yield path
    if not path.isascii():
        normal = unicodedata.normalize("NFKC", path)
        if normal != path:
            yield normal
    decoded = path
    for _ in range(_MOST_DECODINGS):
        before, decoded = decoded, unquote(decoded, errors="strict")
        if decoded == before:
            return
        yield decoded
    raise ValueError("encoded again and again")


def _malformed(path: str) -> str | None:
    if not path.startswith("/"):
        return "a path must be absolute"
    if any(character < _FIRST_PRINTABLE or character == _DELETE for character in path):
        return "it has control characters"
    if "\\" in path:
        return "it has a backslash"
    if ".." in path.split("/"):
        return "it goes up with .. in it"
    path.encode()  # a lone surrogate is a byte that this and the server would write differently
    return None


def _resolve(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except FileNotFoundError:  # any other error says that the way is not known
        return os.path.realpath(path)


def _is_under(path: str, directories: Iterable[str]) -> bool:
    return any(
        path == directory or path.startswith(directory if directory == "/" else directory + "/")
        for directory in directories
    )


# --- addresses ------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    scheme: str
    host: str
    port: int | None


class _BadAddressError(ValueError):
    """Not an address that every reader reads alike."""


class UrlAllowlist:
    """Only what every reader of addresses reads alike is judged at all: no user name, no backslash, nothing
    beyond ASCII, an IP address in its one usual notation. What a name resolves to is not seen."""

    def __init__(
        self, *, hosts: Iterable[str], schemes: Iterable[str] = DEFAULT_SCHEMES, ports: Iterable[int] = ()
    ) -> None:
        """Without `ports` only the usual port of the scheme is allowed."""
        self.hosts = Globs(hosts)
        self.schemes = frozenset(schemes)
        self.ports = frozenset(ports)

    def violation(self, address: Any) -> str | None:
        if not isinstance(address, str):
            return "it is not an address"
        try:
            place = _place(address)
        except _BadAddressError as error:
            return str(error)
        if place.scheme not in self.schemes:
            return "the policy does not name its scheme"
        if not self.hosts.fits(place.host):
            return "the policy does not name its host"
        usual = DEFAULT_PORTS.get(place.scheme)
        port = usual if place.port is None else place.port
        if port is None or port not in (self.ports or {usual}):
            return "the policy does not name its port"
        return None


def _place(address: str) -> _Place:
    if not address.isascii() or not address.isprintable() or " " in address or "\\" in address:
        raise _BadAddressError("it has characters that an address has not")
    shape = _SHAPE.fullmatch(address)
    if shape is None:
        raise _BadAddressError("it is not scheme://host")
    scheme, authority, rest = shape.groups()
    if "@" in authority or ("@" in (rest or "") and not rest.startswith("/")):
        raise _BadAddressError("it has a user name, or looks as if it had")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise _BadAddressError("its host and port are not host:port")
    host, port = parts.groups()
    if port is not None and int(port) > MAX_PORT:
        raise _BadAddressError("its port is not a port")
    return _Place(scheme.lower(), _host(host.lower()), None if port is None else int(port))


def _host(host: str) -> str:
    if host.startswith("["):
        return _ip_address(host[1:-1], ipaddress.IPv6Address)
    if _ENDS_IN_A_NUMBER.fullmatch(host):
        return _ip_address(host, ipaddress.IPv4Address)
    if len(host) > _MAX_HOST or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise _BadAddressError("its host is not a name")
    return host


def _ip_address(text: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> str:
    """Only as it is usually written: 127.1, 0x7f000001 and ::ffff:7f00:1 are other names of one place."""
    try:
        found = kind(text)
    except ValueError:
        raise _BadAddressError("its IP address is not written in the usual way") from None
    if str(found) != text or getattr(found, "ipv4_mapped", None) is not None:
        raise _BadAddressError("its IP address is not written in the usual way")
    return text
