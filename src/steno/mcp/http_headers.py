"""What the proxy does with headers: which pass, which it sets itself, and which must agree with the body.

In: headers, with names in lower case. Out: those for the other side; a sentence when a header
does not say what the body says. A header whose name another server could take for one that is checked here
is a reason to refuse. Never writes a header down anywhere.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from steno.mcp.http_heads import Headers

SESSION = b"mcp-session-id"
VERSION = b"mcp-protocol-version"
METHOD = b"mcp-method"
NAME = b"mcp-name"
VERSION_IN_BODY = "io.modelcontextprotocol/protocolVersion"
# With `initialize` first. Every other value is of the era that says everything in each request.
LEGACY_VERSIONS = frozenset({b"2024-11-05", b"2025-03-26", b"2025-06-18", b"2025-11-25"})
# Which of its parameters a method's `Mcp-Name` repeats.
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

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


class Message(NamedTuple):
    """The parts of a JSON-RPC message that headers repeat."""

    method: str | None  # None: an answer
    params: Any
    wants_answer: bool


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
    return version is not None and version not in LEGACY_VERSIONS


def mismatch(headers: Headers, message: Message) -> str | None:
    """What a header says otherwise than the body; None when they agree."""
    params: Mapping[str, Any] = message.params if isinstance(message.params, dict) else {}
    meta = params.get("_meta")
    in_body = meta.get(VERSION_IN_BODY) if isinstance(meta, dict) else None
    needed = message.wants_answer and (is_current(headers) or in_body is not None)
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
