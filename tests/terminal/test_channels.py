"""Channels: bytes move in order, slowly where the reader is slow, and a gone reader is noticed."""

from __future__ import annotations

import errno
import fcntl
import os
import select

import pytest

from steno.capture.streams import PIPE_PROMISE, Channel


@pytest.fixture
def source() -> tuple[int, int]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    return read, write


def drain(fd: int) -> bytes:
    os.set_blocking(fd, False)
    try:
        return os.read(fd, 1 << 20)
    except BlockingIOError:
        return b""


def test_what_is_read_is_observed_and_passed_on(source: tuple[int, int]) -> None:
    out_read, out_write = os.pipe()
    os.set_blocking(out_write, False)
    seen: list[bytes] = []
    channel = Channel("x", source[0], out_write, seen.append)
    os.write(source[1], b"hello")
    assert channel.wants() == (source[0], select.POLLIN)
    assert channel.move()
    assert (b"".join(seen), drain(out_read)) == (b"hello", b"hello")


def test_nothing_there_is_not_an_end(source: tuple[int, int]) -> None:
    channel = Channel("x", source[0], None, lambda _: None)
    assert not channel.move()
    assert not channel.ended


def test_the_end_of_the_source_is_the_end_of_the_channel(source: tuple[int, int]) -> None:
    channel = Channel("x", source[0], None, lambda _: None)
    os.close(source[1])
    channel.move()
    assert channel.ended
    assert channel.wants() is None


def test_a_slow_reader_stops_the_reading(source: tuple[int, int]) -> None:
    out_read, out_write = os.pipe()
    os.set_blocking(out_write, False)
    os.write(out_write, bytes(fcntl.fcntl(out_write, fcntl.F_GETPIPE_SZ)))  # the way out is full
    channel = Channel("x", source[0], out_write, lambda _: None)
    os.write(source[1], b"waiting")
    channel.move()
    assert channel.stalled
    assert channel.backlog == b"waiting"
    assert channel.wants() == (out_write, select.POLLOUT)
    drain(out_read)
    channel.move()
    assert channel.backlog == b""
    assert drain(out_read) == b"waiting"


def test_a_pipe_of_the_users_gets_no_more_than_poll_promises(source: tuple[int, int]) -> None:
    out_read, out_write = os.pipe()
    channel = Channel("x", source[0], out_write, lambda _: None)
    os.write(source[1], b"y" * (PIPE_PROMISE + 1))
    channel.move()
    assert drain(out_read) == b""
    channel.move()
    assert len(drain(out_read)) == PIPE_PROMISE
    assert os.get_blocking(out_write)


def test_a_reader_that_is_gone_is_told_and_the_bytes_are_still_observed(source: tuple[int, int]) -> None:
    out_read, out_write = os.pipe()
    os.set_blocking(out_write, False)
    os.close(out_read)
    seen: list[bytes] = []
    channel = Channel("x", source[0], out_write, seen.append)
    os.write(source[1], b"lost")
    channel.move()
    assert channel.broken is not None
    assert channel.broken.errno == errno.EPIPE
    assert channel.sink is None
    assert seen == [b"lost"]


def test_a_terminal_that_nobody_holds_is_an_end() -> None:
    master, slave = os.openpty()
    os.set_blocking(master, False)
    os.close(slave)
    channel = Channel("x", master, None, lambda _: None)
    channel.move()
    assert channel.ended
