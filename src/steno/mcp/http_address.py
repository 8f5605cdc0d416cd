"""Where the proxy listens, what it stands before, and who may speak to it.

In: `--listen` and `--upstream` as the user wrote them, the Host and Origin headers of a request. Out:
addresses, or `BadRequestError` with a hint; yes or no. Only loopback is listened on, and only names of
loopback are answered to: a page of another origin, or a name that was rebound to 127.0.0.1, is turned away.
Never resolves a name.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from steno.errors import BadRequestError

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+)(?::[0-9]+)?")
_MAX_PORT = 65535
_LISTEN_HINT = "for example --listen 127.0.0.1:0: only this machine can reach it, and the port is chosen"
_UPSTREAM_HINT = "for example --upstream http://127.0.0.1:8000/mcp"


class Endpoint(NamedTuple):
    """The one URL that requests go to."""

    secure: bool
    host: str
    port: int
    path: str  # what clients must ask for
    target: str  # what the upstream is asked for: the path and the query of its URL

    @property
    def authority(self) -> bytes:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = _PORTS["https" if self.secure else "http"]
        return (host if self.port == usual else f"{host}:{self.port}").encode()

    def tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context() if self.secure else None


def listening(text: str) -> tuple[str, int]:
    """HOST:PORT of loopback; port 0 lets the system choose."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not port.isascii() or int(port) > _MAX_PORT or not host:
        raise BadRequestError(f"--listen {text!r} is not HOST:PORT", hint=_LISTEN_HINT)
    if not _is_loopback(host):
        raise BadRequestError(f"--listen {text!r} is not on loopback", hint=_LISTEN_HINT)
    return ("127.0.0.1" if host.lower() == "localhost" else host.strip("[]")), int(port)


def upstream(text: str) -> Endpoint:
    problem = (
        f"--upstream {text.partition('?')[0].rpartition('@')[2]!r}"  # what may be a secret is not repeated
    )
    if not text.isascii() or not text.isprintable() or " " in text:
        raise BadRequestError(f"{problem} has characters that no URL has", hint=_UPSTREAM_HINT)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadRequestError(f"{problem} is not a URL: {error}", hint=_UPSTREAM_HINT) from None
    if parts.scheme not in _PORTS or not host or port == 0 or parts.fragment:
        raise BadRequestError(f"{problem} is not an http or https URL", hint=_UPSTREAM_HINT)
    if "@" in parts.netloc:
        raise BadRequestError(
            f"{problem} names a user", hint="leave it out; the client's Authorization header is passed on"
        )
    path = parts.path or "/"
    target = f"{path}?{parts.query}" if parts.query else path
    return Endpoint(parts.scheme == "https", host, port or _PORTS[parts.scheme], path, target)


def url(host: str, port: int, path: str) -> str:
    return f"http://[{host}]:{port}{path}" if ":" in host else f"http://{host}:{port}{path}"


@lru_cache(maxsize=64)  # a client sends the same one with every request
def is_own_host(value: bytes) -> bool:
    """Of a Host header: it names loopback, with any port."""
    host = _HOST.fullmatch(value)
    return host is not None and _is_loopback(host[1].decode("ascii"))


def is_own_origin(value: bytes) -> bool:
    """Of an Origin header: a page of this machine."""
    scheme, _, host = value.partition(b"://")
    return scheme.lower() in {b"http", b"https"} and is_own_host(host)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
