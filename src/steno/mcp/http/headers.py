"""What heads are good for: who may ask, what passes, and what must agree with the body.

A header whose name another server could take for one that is checked here is a reason to refuse. Only
loopback is listened on, and only names of loopback are answered to: a page of another origin, or a name
that was rebound to 127.0.0.1, is turned away. No header is written down anywhere, and no name is resolved.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import h11

from steno.errors import BadRequestError
from steno.mcp import protocol
from steno.mcp.messages import ClientMessage
from steno.mcp.protocol import INVALID_REQUEST, LEGACY_VERSIONS, VERSION_KEY

Headers = list[tuple[bytes, bytes]]  # names in lower case

SESSION = b"mcp-session-id"
VERSION = b"mcp-protocol-version"
METHOD = b"mcp-method"
NAME = b"mcp-name"
_LEGACY = frozenset(version.encode() for version in LEGACY_VERSIONS)
# Which of its parameters a method's `Mcp-Name` repeats.
NAMED_BY = {protocol.CALL_TOOL: "name", "prompts/get": "name", "resources/read": "uri"}

_ONE_HOP = frozenset({
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
})  # fmt: skip
# Of a request: set by the proxy. It reads answers, so it asks for them as they are.
_SET_BY_US = _ONE_HOP | {b"host", b"content-length", b"expect", b"accept-encoding"}
# Of an answer: the length is set anew, and no other way to the server is offered.
_NOT_PASSED_BACK = _ONE_HOP | {b"content-length", b"alt-svc"}
_ONCE = frozenset({SESSION, VERSION, METHOD, NAME, b"content-type", b"content-encoding", b"host", b"origin"})
_KNOWN_HERE = _ONCE | _SET_BY_US | _NOT_PASSED_BACK  # some servers read `_` in a name as `-`
_AGREES_WITH_NOTHING = b"\xff"  # no text has these bytes in UTF-8
_BASE64 = re.compile(rb"=\?base64\?(.*)\?=")
JSON: Headers = [(b"content-type", b"application/json")]
METHODS = (b"GET", b"POST", b"DELETE")
_NOT_ALLOWED = 405
_ENCODINGS = frozenset({b"", b"charset=utf-8", b"charset=utf8"})
# What the protocol wants beside an error of this code. Others come with 200, so that every client reads them.
_STATUS = dict.fromkeys((protocol.PARSE_ERROR, protocol.INVALID_REQUEST, protocol.HEADER_MISMATCH), 400)
_STATUS_NOW = {**_STATUS, protocol.METHOD_NOT_FOUND: 404, protocol.INVALID_PARAMS: 400}
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+)(?::[0-9]+)?")
_MAX_PORT = 65535
_LISTEN_HINT = "for example --listen 127.0.0.1:0: only this machine can reach it, and the port is chosen"
_UPSTREAM_HINT = "for example --upstream http://127.0.0.1:8000/mcp"


# --- addresses ------------------------------------------------------------------------------------------


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


def listen_address(text: str) -> tuple[str, int]:
    """HOST:PORT of loopback; port 0 lets the system choose."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not port.isascii() or int(port) > _MAX_PORT or not host:
        raise BadRequestError(f"--listen {text!r} is not HOST:PORT", hint=_LISTEN_HINT)
    if not _is_loopback(host):
        raise BadRequestError(f"--listen {text!r} is not on loopback", hint=_LISTEN_HINT)
    return ("127.0.0.1" if host.lower() == "localhost" else host.strip("[]")), int(port)


def upstream_endpoint(text: str) -> Endpoint:
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


# --- headers --------------------------------------------------------------------------------------------


def to_upstream(headers: Headers) -> Headers:
    return _passed(headers, _SET_BY_US)


def to_client(headers: Headers) -> Headers:
    return _passed(headers, _NOT_PASSED_BACK)


def _passed(headers: Headers, never: frozenset[bytes]) -> Headers:
    named = [
        word.strip().lower() for name, value in headers if name == b"connection" for word in value.split(b",")
    ]
    left_out = never.union(named)
    return [(name, value) for name, value in headers if name not in left_out]


def ambiguous(headers: Headers) -> str | None:
    """The name of a header that two readers could read differently."""
    seen: set[bytes] = set()
    for name, _ in headers:
        folded = name.replace(b"_", b"-")
        if folded in seen or (folded != name and folded in _KNOWN_HERE):
            return name.decode("ascii")
        if folded in _ONCE:
            seen.add(folded)
    return None


def value_of(headers: Headers, wanted: bytes) -> bytes | None:
    for name, value in headers:
        if name == wanted:
            return value
    return None


def media_type(headers: Headers) -> tuple[bytes, bytes]:
    """The type, and its parameters, in lower case."""
    kind, _, parameters = (value_of(headers, b"content-type") or b"").lower().partition(b";")
    return kind.strip(), parameters.strip().replace(b'"', b"").replace(b" ", b"")


def is_plain(headers: Headers) -> bool:
    """The body is not coded."""
    return (value_of(headers, b"content-encoding") or b"identity").strip().lower() == b"identity"


def is_current(headers: Headers) -> bool:
    version = value_of(headers, VERSION)
    return version is not None and version not in _LEGACY


def mismatch(headers: Headers, message: ClientMessage) -> str | None:
    """What a header says otherwise than the body; None when they agree."""
    params: Mapping[str, Any] = message.params if isinstance(message.params, dict) else {}
    meta = params.get("_meta")
    in_body = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    needed = message.kind == "request" and (is_current(headers) or in_body is not None)
    if _differs(value_of(headers, VERSION), in_body, needed=needed, compared=needed or in_body is not None):
        return "MCP-Protocol-Version is not the version in the body"
    if _differs(value_of(headers, METHOD), message.method, needed=needed):
        return "Mcp-Method is not the method in the body"
    key = NAMED_BY.get(message.method or "")
    name = params.get(key) if key else None
    if _differs(_decoded(value_of(headers, NAME)), name, needed=needed and name is not None):
        return "Mcp-Name is not the name in the body"
    return None


def _differs(header: bytes | None, body: Any, *, needed: bool, compared: bool = True) -> bool:
    if header is None:
        return needed
    return compared and (not isinstance(body, str) or header != body.encode("utf-8", "surrogatepass"))


def _decoded(value: bytes | None) -> bytes | None:
    """A value that no header can hold comes as `=?base64?…?=`."""
    coded = _BASE64.fullmatch(value or b"")
    if value is None or coded is None:
        return value if value is None or value.isascii() else _AGREES_WITH_NOTHING
    try:
        plain = base64.b64decode(coded[1], validate=True)
    except binascii.Error:
        return _AGREES_WITH_NOTHING
    return plain if base64.b64encode(plain) == coded[1] else _AGREES_WITH_NOTHING


def has_two_lengths(headers: Headers) -> bool:
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}


# --- requests that are turned away before anybody asks what they want -----------------------------------


class Refusal(NamedTuple):
    status: int
    why: str

    @property
    def headers(self) -> Headers:
        return [*JSON, (b"allow", b", ".join(METHODS))] if self.status == _NOT_ALLOWED else JSON

    @property
    def body(self) -> bytes:
        return protocol.error(None, INVALID_REQUEST, self.why)


def status_of(code: int | None, headers: Headers) -> int:
    """Beside an answer of ours to a request with these headers."""
    statuses = _STATUS_NOW if is_current(headers) else _STATUS
    return 200 if code is None else statuses.get(code, 200)


def request_refusal(request: h11.Request, passed: Headers, body: bytes, path: str) -> Refusal | None:
    """Of one whose sender may ask. `passed`: those of its headers that the upstream will see."""
    if request.target != path.encode("ascii"):
        return Refusal(404, f"only {path} is served here")
    if request.method not in METHODS:
        return Refusal(_NOT_ALLOWED, "only GET, POST and DELETE are served here")
    if (name := ambiguous([*request.headers])) is not None:
        return Refusal(400, f"the header {name} can be read in two ways")
    if request.method == b"POST":
        return _content_refusal(passed)
    return Refusal(400, "only POST has a body") if body else None


def sender_refusal(headers: Headers) -> Refusal | None:
    """Whether it comes from elsewhere, which its head tells."""
    hosts = [value for name, value in headers if name == b"host"]
    if not hosts or not all(map(is_own_host, hosts)):
        return Refusal(403, "the Host header does not name this machine")
    if not all(is_own_origin(value) for name, value in headers if name == b"origin"):
        return Refusal(403, "a page of another origin may not ask here")
    return None


def _content_refusal(headers: Headers) -> Refusal | None:
    kind, parameters = media_type(headers)
    if kind != b"application/json" or parameters not in _ENCODINGS:
        return Refusal(415, "the body must be application/json in UTF-8")
    if not is_plain(headers):
        return Refusal(415, "the body must not be coded")
    return None
