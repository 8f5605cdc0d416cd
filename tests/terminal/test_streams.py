"""The wiring: on a terminal that is split, each stream is an open file of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from steno.capture.streams import Wiring, wire


@pytest.fixture(params=[True, False])
def wiring(request: pytest.FixtureRequest) -> Iterator[Wiring]:
    made = wire("always", split=request.param)
    yield made
    assert made.terminal is not None
    for fd in {*made.terminal, *made.given_away} | ({made.split} if made.split is not None else set()):
        os.close(fd)


def test_the_command_has_one_terminal_on_every_stream(wiring: Wiring) -> None:
    assert wiring.terminal is not None
    names = {os.ttyname(fd) for fd in wiring.command if fd is not None}
    assert names == {os.ttyname(wiring.terminal.slave)}


def test_only_a_split_terminal_is_opened_for_each_stream(wiring: Wiring) -> None:
    """A mode of an open file is seen through its copies and not through another open file."""
    _, stdout, stderr = wiring.command
    assert stdout is not None
    assert stderr is not None
    os.set_blocking(stdout, False)
    assert os.get_blocking(stderr) == (wiring.split is not None)
    assert wiring.streams == ("split" if wiring.split is not None else "merged")


def test_the_observers_end_of_the_pipe_is_given_away(wiring: Wiring) -> None:
    if wiring.split is None or wiring.split_out is None:
        assert wiring.split is wiring.split_out
        return
    os.write(wiring.split_out, b"told")
    assert os.read(wiring.split, 10) == b"told"
    assert wiring.split_out in wiring.given_away
    assert not os.get_blocking(wiring.split)


def test_pipes_are_never_split() -> None:
    wiring = wire("never", split=True)
    for fd in [*wiring.given_away, *(outlet.source for outlet in wiring.outlets)]:
        os.close(fd)
    assert (wiring.split, wiring.split_out) == (None, None)
