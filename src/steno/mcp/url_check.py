"""Whether an address leads to a host, a port and a scheme that a policy names.

In: what a policy names, an address from a call. Out: None, or why not. Only what every reader of addresses
reads alike is judged at all: no user name, no backslash, nothing beyond ASCII, an IP address in its one usual
notation. What a name resolves to, and where an answer redirects, is not seen here. Never asks the network.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from steno.mcp.globs import Globs

DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
DEFAULT_SCHEMES = ("https",)
MAX_PORT = 65535
_MAX_HOST = 253
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([/?#].*)?")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


class _Place(NamedTuple):
    scheme: str
    host: str
    port: int | None


class _BadAddressError(ValueError):
    """Not an address that every reader reads alike."""


class Addresses:
    def __init__(
        self, *, hosts: Iterable[str], schemes: Iterable[str] = DEFAULT_SCHEMES, ports: Iterable[int] = ()
    ) -> None:
        """Without `ports` only the usual port of the scheme is allowed."""
        self.hosts = Globs(hosts)
        self.schemes = frozenset(schemes)
        self.ports = frozenset(ports)

    def breach(self, address: Any) -> str | None:
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
