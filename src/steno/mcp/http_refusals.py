"""Which HTTP requests are turned away before anybody asks what they want.

In: the head and the body of a request. Out: a `Refusal` with its status, or None. A request is turned away
when it comes from elsewhere, asks for another place, or is written so that two servers could read it
differently. Never looks into a body, and never sends anything.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from steno.mcp import http_headers
from steno.mcp.http_address import is_own_host, is_own_origin
from steno.mcp.http_heads import Headers, Request

JSON: Headers = [(b"content-type", b"application/json")]
METHODS = (b"GET", b"POST", b"DELETE")
INVALID_REQUEST = -32600
_NOT_ALLOWED = 405
_ENCODINGS = frozenset({b"", b"charset=utf-8", b"charset=utf8"})
# What the protocol wants beside an error of this code. Others come with 200, so that every client reads them.
_STATUS = {-32700: 400, -32600: 400, -32020: 400}
_STATUS_NOW = {**_STATUS, -32601: 404, -32602: 400}


class Refusal(NamedTuple):
    status: int
    says: str

    @property
    def headers(self) -> Headers:
        return [*JSON, (b"allow", b", ".join(METHODS))] if self.status == _NOT_ALLOWED else JSON

    @property
    def body(self) -> bytes:
        return error(INVALID_REQUEST, self.says)


class _Code(msgspec.Struct):
    code: int = 0


class _Reply(msgspec.Struct):
    error: _Code | None = None


def error(code: int, says: str) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": says}})


def status_of(reply: bytes, headers: Headers) -> int:
    said = msgspec.json.decode(reply, type=_Reply | list[_Reply])
    found = said[0].error if isinstance(said, list) else said.error
    codes = _STATUS_NOW if http_headers.is_current(headers) else _STATUS
    return 200 if found is None else codes.get(found.code, 200)


def of_request(request: Request, passed: Headers, body: bytes, path: str) -> Refusal | None:
    """Of one whose sender may ask. `passed`: those of its headers that the upstream will see."""
    headers = request.headers
    if request.target != path.encode("ascii"):
        return Refusal(404, f"only {path} is served here")
    if request.method not in METHODS:
        return Refusal(_NOT_ALLOWED, "only GET, POST and DELETE are served here")
    if (name := http_headers.ambiguous(headers)) is not None:
        return Refusal(400, f"the header {name} can be read in two ways")
    if request.method == b"POST":
        return _of_content(passed)
    return Refusal(400, "only POST has a body") if body else None


def of_sender(headers: Headers) -> Refusal | None:
    """Whether it comes from elsewhere, which its head tells."""
    hosts = [value for name, value in headers if name == b"host"]
    if not hosts or not all(map(is_own_host, hosts)):
        return Refusal(403, "the Host header does not name this machine")
    if not all(is_own_origin(value) for name, value in headers if name == b"origin"):
        return Refusal(403, "a page of another origin may not ask here")
    return None


def _of_content(headers: Headers) -> Refusal | None:
    kind, parameters = http_headers.media_type(headers)
    if kind != b"application/json" or parameters not in _ENCODINGS:
        return Refusal(415, "the body must be application/json in UTF-8")
    if not http_headers.is_plain(headers):
        return Refusal(415, "the body must not be coded")
    return None
