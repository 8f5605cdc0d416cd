"""An event stream passes byte for byte, whatever its line ends and wherever it is cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.mcp.http.sse import EventRelay, EventTooLongError

_LINES = st.sampled_from(
    [
        b"",
        b"",
        b"data: one",
        b"data:two",
        b"data",
        b"data:  three",
        b"id: 7",
        b"event: message",
        b": ping",
        b"retry: 5",
    ]
)
_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
_STREAMS = st.lists(st.tuples(_LINES, _ENDS).map(b"".join), max_size=30).map(b"".join)


def _through(pieces: list[bytes]) -> tuple[bytes, list[bytes]]:
    seen: list[bytes] = []

    def look(data: bytes) -> bytes:
        seen.append(data)
        return data

    relay = EventRelay(look)
    out = b"".join(relay.feed(piece) for piece in pieces)
    return out + relay.end(), seen


def _cut(stream: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(place % (len(stream) + 1) for place in at)})
    return [stream[start:end] for start, end in itertools.pairwise(places)]


@given(stream=_STREAMS | st.binary(max_size=300), at=st.lists(st.integers(0, 1 << 20), max_size=12))
def test_every_byte_passes_and_the_cuts_do_not_matter(stream: bytes, at: list[int]) -> None:
    out, seen = _through(_cut(stream, at))
    assert out == stream
    assert seen == _through([stream])[1]


@given(_STREAMS)
def test_what_is_seen_is_what_the_standard_says(stream: bytes) -> None:
    expected, data = [], []
    for line in stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        if not line:
            expected.append(b"\n".join(data))
            data = []
    expected.append(b"\n".join(data))  # a torn event is looked at too
    assert _through([stream])[1] == [event for event in expected if event]


def test_an_event_is_held_until_it_is_complete_and_a_comment_is_not() -> None:
    relay = EventRelay(lambda data: data)
    assert relay.feed(b": ping\n") == b": ping\n"
    assert relay.feed(b"event: message\r\ndata: {") == b"event: message\r\n"
    assert relay.feed(b"}\r\n\r") == b"data: {}\r\n\r"
    assert relay.feed(b"\n") == b"\n"


def test_a_changed_message_takes_the_place_of_its_data_and_the_other_fields_stay() -> None:
    relay = EventRelay(lambda data: data.replace(b"a", b"b"))
    assert relay.feed(b"event: message\nid: 1\ndata: a\ndata: a\nretry: 9\n\ndata: c\n\n") == (
        b"event: message\nid: 1\ndata: b\ndata: b\nretry: 9\n\ndata: c\n\n"
    )


def test_a_byte_order_mark_is_not_part_of_the_first_field() -> None:
    out, seen = _through([b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n"])
    assert (out, seen) == (b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n", [b"x"])


@pytest.mark.parametrize("line", [b"data: " + b"x" * 90, b": " + b"x" * 90, b"data: x\n" * 12])
def test_an_event_without_an_end_is_refused_at_the_bound(line: bytes) -> None:
    relay = EventRelay(lambda data: data, limit=80)
    pieces = [line[at : at + 1] for at in range(len(line))]
    with pytest.raises(EventTooLongError):
        _ = [relay.feed(piece) for piece in pieces]


def test_an_id_tells_that_the_rest_can_be_asked_for() -> None:
    relay = EventRelay(lambda data: data)
    relay.feed(b"id:\ndata: x\n\n")
    assert not relay.resumable
    relay.feed(b"id: 1\ndata:\n\n")
    assert relay.resumable
