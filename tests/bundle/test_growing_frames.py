"""Frames that are read while they grow."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.folder import Folder
from steno.bundle.frame_records import FramesError
from steno.bundle.frames import BATCH
from steno.bundle.live_frames import LiveFrames
from steno.evidence import wire
from support.frames_made import KEY, FakeFrames, Found


class Growing:
    """A folder of frames to which more is written."""

    def __init__(self, directory: Path) -> None:
        self.kernel = directory / "kernel"
        self.made = FakeFrames().header(closed=0)
        self.made.write(directory)

    def write(self, **header: Any) -> None:
        """The files as they are now, in place: whoever holds them sees it."""
        self.made.header(**header)
        for name, data in self.made.files().items():
            _overwrite(self.kernel / name, data)

    def open(self) -> LiveFrames:
        with Folder(self.kernel) as folder:
            return LiveFrames(folder, KEY)


def _overwrite(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path)


@pytest.fixture
def frames(growing: Growing) -> Iterator[LiveFrames]:
    with growing.open() as found:
        yield found


def paths(frames: LiveFrames) -> list[bytes | None]:
    records = frames.take()
    events = [wire.Event(*fields) for fields in wire.EVENT.iter_unpack(records)]
    return [frames.text(event.path) for event in events]


def test_an_event_is_given_at_the_look_after_the_one_that_found_it(
    growing: Growing, frames: LiveFrames
) -> None:
    growing.made.event("unlink", "/a")
    growing.write()
    frames.advance()
    assert paths(frames) == []
    frames.advance()
    assert paths(frames) == [b"/a"]
    assert paths(frames) == []


def test_what_is_there_at_the_beginning_is_given_at_the_first_look(growing: Growing) -> None:
    growing.made.event("unlink", "/a")
    growing.write()
    with growing.open() as frames:
        frames.advance()
        assert paths(frames) == [b"/a"]


def test_the_end_is_given_at_once(growing: Growing, frames: LiveFrames) -> None:
    growing.made.event("unlink", "/a")
    growing.write(closed=1)
    frames.advance()
    assert frames.closed
    assert paths(frames) == [b"/a"]
    growing.made.event("unlink", "/b")
    growing.write(closed=0)
    frames.advance(to_the_end=True)
    assert paths(frames) == [b"/b"]


def test_files_that_are_removed_are_read_to_their_end(growing: Growing, frames: LiveFrames) -> None:
    growing.made.event("unlink", "/a")
    growing.write(closed=1)
    for path in growing.kernel.iterdir():
        path.unlink()
    frames.advance()
    assert paths(frames) == [b"/a"]


def test_strings_are_found_wherever_they_lie(growing: Growing, frames: LiveFrames) -> None:
    names = [b"/" + bytes([65 + number % 26]) * (number * 37 % 5000) for number in range(900)]
    for name in names:
        growing.made.event("unlink", name)
    growing.write(closed=1)
    frames.advance()
    assert paths(frames) == names


def test_a_string_longer_than_what_is_read_at_once_is_whole(growing: Growing, frames: LiveFrames) -> None:
    long = b"/" + b"x" * (3 << 20)
    growing.made.event("unlink", long).event("unlink", "/after")
    growing.write(closed=1)
    frames.advance()
    assert paths(frames) == [long, b"/after"]


def test_at_most_a_batch_is_given_at_once(growing: Growing, frames: LiveFrames) -> None:
    growing.made.events = [growing.made.event("stat", "/a").events[0]] * (BATCH + 3)
    growing.write(closed=1)
    frames.advance()
    assert len(frames.take()) == BATCH * wire.EVENT.size
    assert len(frames.take()) == 3 * wire.EVENT.size


def test_a_header_that_claims_more_than_there_is_gives_what_is_there(
    growing: Growing, frames: LiveFrames
) -> None:
    growing.made.event("unlink", "/a")
    growing.write(closed=1, events=1 << 60, strings=1 << 60)
    frames.advance()
    assert paths(frames) == [b"/a"]


def test_a_header_that_was_wrecked_is_passed_over(growing: Growing, frames: LiveFrames) -> None:
    growing.made.event("unlink", "/a")
    growing.write()
    frames.advance()
    _overwrite(growing.kernel / wire.HEADER_FILE, b"junk")
    frames.advance()
    assert paths(frames) == [b"/a"]


def test_a_string_that_is_not_there_is_none(growing: Growing, frames: LiveFrames) -> None:
    growing.made.event("unlink", "/a")
    growing.write(closed=1)
    _overwrite(growing.kernel / wire.STRINGS_FILE, b"")
    frames.advance()
    assert paths(frames) == [None]


def test_strings_of_another_key_end_the_reading_of_strings(growing: Growing) -> None:
    growing.made.event("unlink", "/a")
    growing.write(closed=1)
    with Folder(growing.kernel) as folder, LiveFrames(folder, bytes(32)) as frames:
        frames.advance()
        assert frames.text(1) is None


def test_the_mode_of_what_was_found_is_told(growing: Growing, frames: LiveFrames) -> None:
    growing.made.event("open", "/a", state=Found(mode=0o100600))
    growing.write(closed=1)
    frames.advance()
    assert frames.mode(wire.STATE_FIRST) == 0o100600
    assert [frames.mode(state) for state in (wire.STATE_NONE, wire.STATE_ABSENT, 1 << 31)] == [0, 0, 0]


def test_a_helper_that_has_not_begun_is_an_error_and_leaves_nothing_open(growing: Growing) -> None:
    gc.collect()  # what other tests have left is not closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    _overwrite(growing.kernel / wire.HEADER_FILE, b"")
    with pytest.raises(FramesError):
        growing.open()
    (growing.kernel / wire.STRINGS_FILE).unlink()
    with pytest.raises(FileNotFoundError):
        growing.open()
    assert len(os.listdir("/proc/self/fd")) == before
