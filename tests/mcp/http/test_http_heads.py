"""A plain head is read as h11 reads it; what is not plain is left to h11."""

from __future__ import annotations

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steno.mcp import http_heads
from steno.mcp.http_heads import END_OF_HEAD

_REQUEST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5"
_LINES = st.sampled_from([
    b"Host: localhost",
    b"host:localhost",
    b"Content-Length: 5",
    b"Content-Length: 5, 5",
    b"Content-Length: +5",
    b"Content-Length: " + b"9" * 21,
    b"Content_Length: 5",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: Chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding : chunked",
    b" Transfer-Encoding: chunked",
    b"Connection: keep-alive",
    b"Connection: close",
    b"Connection: keep-alive, close",
    b"Expect: 100-continue",
    b"Upgrade: h2c",
    b"Mcp-Name: \xc3\xa9 \t x\t ",
    b"X:",
    b"X: a\nY: b",
    b"X: a\rY: b",
    b"X: \0",
    b"X: \x0b",
    b": x",
    b"",
])  # fmt: skip
_FIRST = st.sampled_from([
    b"POST /mcp HTTP/1.1",
    b"GET /mcp HTTP/1.1",
    b"HEAD /mcp HTTP/1.1",
    b"POST /mcp HTTP/1.0",
    b"POST  /mcp HTTP/1.1",
    b"POST /m\x7fcp HTTP/1.1",
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 200",
    b"HTTP/1.1 200 \t\xff",
    b"HTTP/1.1 204 No",
    b"HTTP/1.1 100 Go on",
    b"HTTP/1.0 200 OK",
    b"HTTP/1.1 99 OK",
])  # fmt: skip
_HEADS = st.builds(
    lambda first, lines: b"\r\n".join([first, *lines]),
    _FIRST | st.binary(max_size=20),
    st.lists(_LINES | st.binary(max_size=12), max_size=6),
)


def _read(head: bytes, http: h11.Connection) -> tuple[object, bytes | None]:
    """What h11 reads, and how much of five bytes it takes for the body; None: for a part of it."""
    http.receive_data(head + END_OF_HEAD)
    found = http.next_event()
    http.receive_data(b"1\r\nx\r\n0\r\n\r\n" if b"chunked" in head.lower() else b"12345")
    body = b""
    while isinstance(event := http.next_event(), h11.Data):
        body += event.data
    return found, body if isinstance(event, h11.EndOfMessage) else None


@given(_HEADS)
@example(_REQUEST)
@example(_REQUEST + b"\r\nX: a b \t")
@example(b"GET /mcp HTTP/1.1\r\nHost: [::1]:80")
def test_a_plain_request_is_the_same_for_h11(head: bytes) -> None:
    plain = http_heads.plain_request(head + END_OF_HEAD) if END_OF_HEAD not in head else None
    if plain is None:
        return
    found, body = _read(head, h11.Connection(h11.SERVER))
    assert isinstance(found, h11.Request)
    assert http_heads.request_of(found) == plain._replace(length=None)
    if plain.length is not None and plain.length <= 5:
        assert body == b"12345"[: plain.length]


@given(_HEADS)
@example(_ANSWER)
@example(_ANSWER + b"\r\nX: a b \t")
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked")
def test_a_plain_answer_is_the_same_for_h11(head: bytes) -> None:
    plain = http_heads.plain_response(head + END_OF_HEAD) if END_OF_HEAD not in head else None
    if plain is None:
        return
    found, body = _read(head, h11.Connection(h11.CLIENT))
    assert isinstance(found, h11.Response)
    assert http_heads.response_of(found) == plain._replace(length=None)
    if plain.length is None:
        assert body == b"x"
    elif plain.length <= 5:
        assert body == b"12345"[: plain.length]


@pytest.mark.parametrize(
    "line",
    [
        b"Content-Length: 5",
        b"Transfer-Encoding: chunked",
        b"Expect: 100-continue",
        b"Connection: close",
        b"Upgrade: h2c",
        b" folded",
        b"X : y",
        b"X: a\nb",
        b"Host: other",
    ],
)
def test_what_changes_how_the_rest_is_read_is_not_plain(line: bytes) -> None:
    assert http_heads.plain_request(_REQUEST + END_OF_HEAD) is not None
    assert http_heads.plain_request(_REQUEST + b"\r\n" + line + END_OF_HEAD) is None
