"""Files that grow while they are read."""

from __future__ import annotations

import os
from pathlib import Path

from steno.bundle.folder import Folder
from steno.bundle.store import RunState
from steno.evidence import index, layout
from steno.evidence.index import Arrival
from steno.model.live.growing import LONGEST_LINE, MOST_AT_ONCE, GrowingLines, GrowingTape, Heard, taken
from steno.model.live.listening import Listening
from support.spools import RUN_ID, open_spool, start


def test_only_whole_lines_are_given_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    lines = GrowingLines(os.open(path, os.O_RDONLY))
    assert lines.take() == [b"one"]
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert lines.take() == [b"two", b"three"]
    assert lines.take() == []
    lines.close()


def test_a_line_that_is_too_long_is_passed_over_and_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n" + b"x" * (3 * MOST_AT_ONCE) + b"\ntwo\n")
    lines = GrowingLines(os.open(path, os.O_RDONLY))
    assert taken(lines.take, over=True) == [b"one"]
    found = [line for _ in range(5) for line in lines.take()]
    assert found == [b"two"]
    assert lines.passed_over == 1
    assert LONGEST_LINE < MOST_AT_ONCE
    lines.close()


def tape(directory: Path, chunks: list[bytes]) -> GrowingTape:
    (directory / "data").write_bytes(b"".join(chunks))
    records = index.pack(Arrival(at, len(data)) for at, data in enumerate(chunks))
    (directory / "records").write_bytes(records)
    opened = [os.open(directory / name, os.O_RDONLY) for name in ("data", "records")]
    return GrowingTape(opened[0], opened[1])


def test_the_bytes_of_a_stream_come_with_their_times(tmp_path: Path) -> None:
    found = tape(tmp_path, [b"one", b"two"])
    assert found.take() == [Heard(0, b"one"), Heard(1, b"two")]
    assert found.take() == []
    found.close()


def test_an_index_that_runs_ahead_is_waited_for(tmp_path: Path) -> None:
    found = tape(tmp_path, [b"one", b"two"])
    os.truncate(tmp_path / "data", 4)
    assert found.take() == [Heard(0, b"one")]
    (tmp_path / "data").write_bytes(b"onetwo")
    assert found.take() == [Heard(1, b"two")]
    found.close()


def test_of_a_long_stream_only_the_end_is_given(tmp_path: Path) -> None:
    found = tape(tmp_path, [b"%04d" % number for number in range(1000)])
    assert found.skip_to_last(40) == 3960
    assert [one.data for one in found.take()] == [b"%04d" % number for number in range(990, 1000)]
    found.close()


def test_a_terminal_is_heard_while_it_speaks_and_to_its_end(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / RUN_ID)
    spool.event(start())
    out, err = spool.stream(layout.STDOUT), spool.stream(layout.STDERR)
    with Folder(tmp_path / RUN_ID) as run:
        listening = Listening(run)
        assert listening.look().heard == []
        out.append(5, b"out\n")
        err.append(4, b"err\n")
        spool.settle()
        assert [one.data for one in listening.look().heard] == [b"err\n", b"out\n"]
        out.append(6, b"password: correct horse\n")
        out.close()
        err.close()
        spool.close()
        sounds = [listening.look() for _ in range(6)]
        assert sounds[-1].ended is RunState.UNSEALED
        heard = b"".join(one.data for sound in sounds for one in sound.heard)
        assert heard.startswith(b"password: ***"), "what is in the spool is masked already"
        listening.close()
