"""Chunks are read as h11 reads them, in whatever pieces they come."""

from __future__ import annotations

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steno.mcp.http_chunks import Chunks

_HEAD = b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n"
_PARTS = st.sampled_from([
    b"1\r\nx\r\n",
    b"00a\r\n0123456789\r\n",
    b"3;a=b\r\nabc\r\n",
    b"2 \r\n\r\n\r\n",
    b"0\r\n\r\n",
    b"0\r\nX: y\r\n\r\n",
    b"0\r\n folded\r\n\r\n",
    b"1\nx\n",
    b"1\r\nxy\r\n",
    b"-1\r\n",
    b"0x1\r\nx\r\n",
    b" 1\r\nx\r\n",
    b"\r\n",
    b"\r",
    b"\n",
])  # fmt: skip
_STREAMS = st.lists(_PARTS | st.binary(max_size=3), max_size=8).map(b"".join)


def _by_h11(data: bytes) -> tuple[bytes, bool, bytes]:
    http = h11.Connection(h11.CLIENT)
    http.receive_data(_HEAD)
    http.next_event()
    http.receive_data(data)
    body = b""
    while isinstance(event := http.next_event(), h11.Data):
        body += event.data
    ended = isinstance(event, h11.EndOfMessage)
    return body, ended, http.trailing_data[0] if ended else b""


@given(_STREAMS, st.integers(1, 7))
@example(b"5\r\nhello\r\n0\r\n\r\nHTTP/1.1", 1)
@example(b"5;x\r\nhello\r\n0\r\nA: b\r\nC:\r\n\r\n", 2)
def test_what_is_read_is_what_h11_reads(data: bytes, step: int) -> None:
    chunks, body, after = Chunks(), b"", b""
    try:
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            if chunks.has_ended:
                after += piece
            else:
                body += chunks.feed(piece)
    except h11.RemoteProtocolError:
        return
    after = chunks.rest + after if chunks.has_ended else b""
    try:
        assert _by_h11(data) == (body, chunks.has_ended, after)
    except h11.RemoteProtocolError:
        assert not chunks.has_ended  # h11 need not see the end of a line to know that it is wrong


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n",
        b"g\r\n",
        b"1\r\nxy\r\n",
        b"1\nx\n\r\n",
        b"0\r\n: y\r\n",
        b"1" * (16 << 10),
        b"f" * 17 + b"\r\n",
    ],
)
def test_what_is_no_chunk_is_an_error(data: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        Chunks().feed(data)
