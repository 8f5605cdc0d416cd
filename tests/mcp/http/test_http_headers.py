"""Which headers pass, and which must say what the body says."""

from __future__ import annotations

import base64

import pytest

from steno.mcp.http import headers as http_headers
from steno.mcp.http.headers import Headers
from steno.mcp.messages import ClientMessage
from steno.mcp.protocol import VERSION_KEY

_META = {"_meta": {VERSION_KEY: "2026-07-28"}}
_CALL = ClientMessage("request", "tools/call", 1, {"name": "read", **_META})
_GOOD: Headers = [
    (b"mcp-protocol-version", b"2026-07-28"),
    (b"mcp-method", b"tools/call"),
    (b"mcp-name", b"read"),
]


def _without(name: bytes) -> Headers:
    return [(key, value) for key, value in _GOOD if key != name]


def test_headers_that_say_what_the_body_says_agree() -> None:
    assert http_headers.mismatch(_GOOD, _CALL) is None


@pytest.mark.parametrize("name", [b"mcp-protocol-version", b"mcp-method", b"mcp-name"])
def test_in_the_current_era_each_header_is_needed_and_must_agree(name: bytes) -> None:
    assert http_headers.mismatch(_without(name), _CALL)
    assert http_headers.mismatch([*_without(name), (name, b"other")], _CALL)


def test_a_request_without_its_version_in_the_body_cannot_name_one_in_a_header() -> None:
    assert http_headers.mismatch(_GOOD, ClientMessage("request", "tools/call", 1, {"name": "read"}))


def test_a_legacy_version_beside_a_current_body_is_a_mismatch() -> None:
    assert http_headers.mismatch(
        [*_without(b"mcp-protocol-version"), (b"mcp-protocol-version", b"2025-06-18")], _CALL
    )


def test_a_legacy_request_needs_none_and_what_it_has_must_agree() -> None:
    legacy = ClientMessage("request", "tools/call", 1, {"name": "read"})
    assert http_headers.mismatch([], legacy) is None
    assert http_headers.mismatch([(b"mcp-protocol-version", b"2025-06-18")], legacy) is None
    assert http_headers.mismatch([(b"mcp-method", b"tools/list")], legacy)
    assert http_headers.mismatch([(b"mcp-name", b"write")], legacy)


def test_an_answer_has_no_method_that_a_header_could_name() -> None:
    answer = ClientMessage("response")
    assert http_headers.mismatch([(b"mcp-protocol-version", b"2026-07-28")], answer) is None
    assert http_headers.mismatch([(b"mcp-method", b"tools/call")], answer)


@pytest.mark.parametrize(("name", "agrees"), [("lösen", True), (" a", True), ("a", True)])
def test_a_name_that_no_header_can_hold_comes_coded(name: str, agrees: bool) -> None:
    coded = b"=?base64?" + base64.b64encode(name.encode()) + b"?="
    message = ClientMessage("request", "tools/call", 1, {"name": name, **_META})
    assert (http_headers.mismatch([*_without(b"mcp-name"), (b"mcp-name", coded)], message) is None) is agrees


@pytest.mark.parametrize(
    "coded", [b"=?base64?!!?=", b"=?base64?cmVhZA?=", b"=?base64?cmVhZB==?=", b"r\xc3\xa4d"]
)
def test_a_damaged_name_agrees_with_nothing(coded: bytes) -> None:
    for name in ("read", "räd", ""):
        message = ClientMessage("request", "tools/call", 1, {"name": name, **_META})
        assert http_headers.mismatch([*_without(b"mcp-name"), (b"mcp-name", coded)], message)


@pytest.mark.parametrize(
    "headers",
    [
        [(b"mcp-method", b"a"), (b"mcp-method", b"a")],
        [(b"mcp_method", b"a")],
        [(b"mcp-session-id", b"a"), (b"mcp_session-id", b"b")],
        [(b"content-type", b"application/json"), (b"content-type", b"text/plain")],
        [(b"content_encoding", b"gzip")],
    ],
)
def test_a_header_that_two_readers_could_read_differently_is_named(headers: Headers) -> None:
    assert http_headers.ambiguous(headers)


def test_what_is_for_one_hop_stays_and_everything_else_passes() -> None:
    headers: Headers = [
        (b"host", b"127.0.0.1"),
        (b"authorization", b"Bearer x"),
        (b"connection", b"close, X-Hop"),
        (b"x-hop", b"1"),
        (b"x-other", b"2"),
        (b"content-length", b"3"),
        (b"accept-encoding", b"gzip"),
        (b"transfer-encoding", b"chunked"),
    ]
    assert http_headers.to_upstream(headers) == [(b"authorization", b"Bearer x"), (b"x-other", b"2")]
    assert http_headers.to_client([(b"alt-svc", b"h3"), (b"set-cookie", b"a"), (b"set-cookie", b"b")]) == [
        (b"set-cookie", b"a"),
        (b"set-cookie", b"b"),
    ]
