"""What the recorder keeps of the order of what the loop tells."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from steno.bundle.folder import Folder
from steno.bundle.stream_writer import StreamWriter
from steno.capture.terminal import InputMode
from steno.evidence import index, layout
from steno.record.recorder import Recorder

BESIDE_EACH_OTHER = [
    ((layout.STDOUT, layout.STDERR), None, (layout.STDOUT, layout.STDERR)),
    ((layout.STDOUT, layout.STDERR), None, (layout.STDERR, layout.STDIN)),
    ((layout.OUTPUT,), "split", (layout.OUTPUT, layout.STDIN)),
    ((layout.OUTPUT,), "split", (layout.STDOUT, layout.STDERR)),
]


class Unmasked:
    def feed(self, data: bytes) -> bytes:
        return data

    def settle(self) -> bytes:
        return b""

    close = settle


class FakeSpool:
    """Tapes in a folder, and a clock that takes a nanosecond for each look at it."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._now = 0
        self.streams: dict[str, StreamWriter] = {}

    def stream(self, name: str) -> StreamWriter:
        self.streams[name] = StreamWriter(self._folder, name, Unmasked())
        return self.streams[name]

    def now(self) -> int:
        self._now += 1
        return self._now


def arrivals_of(
    place: Path, outlets: tuple[str, ...], split: str | None, tapes: tuple[str, ...]
) -> list[int]:
    """How many arrivals the first tape has after a piece for each tape in turn, twice, in no time."""
    with Folder(place) as folder:
        spool = FakeSpool(folder)
        wiring = SimpleNamespace(
            outlets=[SimpleNamespace(tape=name) for name in outlets],
            split=split,
            inlets=["stdin"],
            recorded=layout.TAPES,
        )
        recorder = Recorder(cast(Any, spool), cast(Any, wiring), cast(Any, None), cast(Any, None))
        for tape in (*tapes, *tapes):
            if tape == layout.STDIN:
                recorder.input(b"x", InputMode.SHOWN)
            elif tape in outlets:
                recorder.output(tape, b"x")
            else:
                recorder.told(tape, spool.now(), b"x")
        for one in spool.streams.values():
            one.close()
    found = (place / layout.index_of(tapes[0])).read_bytes()
    return [arrival.length for arrival in index.unpack([found])]


@pytest.mark.parametrize(("outlets", "split", "tapes"), BESIDE_EACH_OTHER)
def test_pieces_with_another_stream_between_them_stay_apart(
    outlets: tuple[str, ...], split: str | None, tapes: tuple[str, ...], tmp_path: Path
) -> None:
    assert arrivals_of(tmp_path, outlets, split, tapes) == [1, 1]


def test_what_was_shown_and_what_was_told_of_it_are_two_timelines(tmp_path: Path) -> None:
    assert arrivals_of(tmp_path, (layout.OUTPUT,), "split", (layout.OUTPUT, layout.STDOUT)) == [2]
