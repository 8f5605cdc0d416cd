"""Unread input goes back to its pipe exactly, or is declared."""

from __future__ import annotations

import os
import socket

import pytest

from steno.capture.streams import Unread, open_reader, pipe_bytes, return_unread


class Pipe:
    def __init__(self, content: bytes = b"", *, writer_gone: bool = False) -> None:
        self.read, self.write = os.pipe()
        if content:
            os.write(self.write, content)
        if writer_gone:
            os.close(self.write)


def rest_of(pipe: Pipe) -> bytes:
    os.set_blocking(pipe.read, False)
    try:
        return os.read(pipe.read, 1 << 20)
    except BlockingIOError:
        return b""


def test_nothing_left_is_nothing_to_give_back() -> None:
    assert return_unread(Pipe(b"more", writer_gone=True).read, Pipe().write, b"") == Unread(
        0, given_back=True
    )


@pytest.mark.parametrize("still_there", [b"", b"three\n"])
def test_what_was_taken_comes_before_what_is_still_there(still_there: bytes) -> None:
    source = Pipe(still_there, writer_gone=True)
    relay = Pipe(b"one\n")
    assert return_unread(source.read, relay.write, b"two\n") == Unread(8, given_back=True)
    assert rest_of(source) == b"one\ntwo\n" + still_there


def test_a_relay_that_is_closed_on_our_side_still_yields_its_bytes() -> None:
    source, relay = Pipe(writer_gone=True), Pipe(b"left")
    reader = open_reader(relay.write)
    os.close(relay.write)
    assert return_unread(source.read, reader, b"") == Unread(4, given_back=True)
    assert rest_of(source) == b"left"


def test_a_pipe_with_a_living_writer_is_left_alone() -> None:
    source = Pipe(b"later")
    relay = Pipe(b"taken")
    assert return_unread(source.read, relay.write, b"") == Unread(5, given_back=False)
    assert rest_of(source) == b"later"
    assert pipe_bytes(relay.write) == 5


def test_a_socket_takes_nothing_back() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        assert return_unread(theirs.fileno(), Pipe(b"taken").write, b"") == Unread(5, given_back=False)


def test_more_than_the_pipe_holds_is_not_given_back() -> None:
    source = Pipe(b"x" * 60_000, writer_gone=True)
    assert return_unread(source.read, Pipe().write, b"y" * 10_000) == Unread(10_000, given_back=False)
    assert rest_of(source) == b"x" * 60_000
