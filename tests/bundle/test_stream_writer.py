"""Tapes: the masked bytes and their index agree, whatever the chunks, the masker and the disk do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.bundle.folder import Folder
from steno.bundle.stream_writer import BATCH_BYTES, ONE_MOMENT_NS, StreamWriter
from steno.evidence import index, layout
from steno.evidence.index import Arrival
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

SECRET = b"ghp_" + b"0aB1" * 9
CHUNKS = st.lists(st.binary(max_size=20), max_size=12)


class HoldingMasker:
    """Gives back what it got, each time as much as it is told to, the rest at the end."""

    def __init__(self, amounts: Iterator[int]) -> None:
        self._amounts = amounts
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        self._held += data
        return self.settle()

    def settle(self) -> bytes:
        amount = next(self._amounts, 0)
        given_back, self._held = self._held[:amount], self._held[amount:]
        return given_back

    def close(self) -> bytes:
        given_back, self._held = self._held, b""
        return given_back


def read_tape(place: Path, name: str = layout.STDIN) -> tuple[bytes, list[Arrival]]:
    data = (place / name).read_bytes()
    records = (place / layout.index_of(name)).read_bytes()
    assert len(records) % index.RECORD.size == 0
    return data, list(index.unpack([records]))


@given(CHUNKS, st.lists(st.integers(0, 30), max_size=30))
def test_every_byte_keeps_the_time_at_which_it_came(chunks: list[bytes], amounts: list[int]) -> None:
    with TemporaryDirectory() as scratch, Folder(Path(scratch)) as folder:
        tape = StreamWriter(folder, layout.STDIN, HoldingMasker(iter(amounts)))
        for time, chunk in enumerate(chunks):
            tape.append(time * ONE_MOMENT_NS, chunk)
            tape.settle()
        tape.close()
        data, arrivals = read_tape(Path(scratch))
    assert data == b"".join(chunks)
    times = [arrival.mono_ns for arrival in arrivals for _ in range(arrival.length)]
    assert times == [time * ONE_MOMENT_NS for time, chunk in enumerate(chunks) for _ in chunk]
    assert tape.lost_bytes == 0
    assert not tape.waiting


def test_what_comes_within_one_moment_is_one_arrival(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        tape = StreamWriter(folder, layout.STDOUT, HoldingMasker(iter([100])))
        for time in (0, ONE_MOMENT_NS - 1, ONE_MOMENT_NS):
            tape.append(time, b"abc")
        tape.close()
    assert read_tape(tmp_path, layout.STDOUT)[1] == [Arrival(0, 6), Arrival(ONE_MOMENT_NS, 3)]


def test_what_comes_after_something_on_another_stream_is_an_arrival_of_its_own(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        tape = StreamWriter(folder, layout.STDOUT, HoldingMasker(iter([100])))
        tape.append(0, b"abc")
        tape.end_moment()
        tape.append(1, b"def")
        tape.append(2, b"ghi")
        tape.close()
    assert read_tape(tmp_path, layout.STDOUT)[1] == [Arrival(0, 3), Arrival(1, 6)]


def test_a_flood_is_written_before_it_is_over(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        tape = StreamWriter(folder, layout.STDOUT, HoldingMasker(iter([BATCH_BYTES] * 2)))
        tape.append(0, bytes(BATCH_BYTES - 1))
        assert read_tape(tmp_path, layout.STDOUT)[0] == b""
        tape.append(0, b"x")
        assert len(read_tape(tmp_path, layout.STDOUT)[0]) == BATCH_BYTES
        tape.close()


@given(st.lists(st.integers(1, 60), max_size=12))
def test_a_secret_is_masked_at_equal_length_however_it_is_cut(cuts: list[int]) -> None:
    text = b"before\ntoken: " + SECRET + b"\nafter " + SECRET + b" end"
    with TemporaryDirectory() as scratch, Folder(Path(scratch)) as folder:
        tape = StreamWriter(folder, layout.STDOUT, Redactor(findings=Findings()).stream("x"))
        at = 0
        for time, cut in enumerate([*cuts, len(text)]):
            tape.append(time, text[at : at + cut])
            at += cut
        tape.close()
        data, arrivals = read_tape(Path(scratch), layout.STDOUT)
    assert SECRET not in data
    assert data.startswith(b"before\ntoken: ")
    assert len(data) == len(text) == sum(arrival.length for arrival in arrivals)


def test_a_chunk_longer_than_a_record_may_be_is_kept_in_several(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        tape = StreamWriter(folder, layout.STDOUT, HoldingMasker(iter([index.MAX_LENGTH] * 3)))
        tape.append(5, bytes(index.MAX_LENGTH + 1))
        tape.close()
    _, arrivals = read_tape(tmp_path, layout.STDOUT)
    assert arrivals == [Arrival(5, index.MAX_LENGTH), Arrival(5, 1)]


@pytest.mark.parametrize("room", range(40))
def test_a_write_that_fails_anywhere_leaves_bytes_and_index_in_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    real_write, left = os.write, room

    def write(fd: int, data: bytes) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real_write(fd, bytes(data)[:left])
        left -= written
        return written

    with Folder(tmp_path) as folder:
        tape = StreamWriter(folder, layout.STDIN, HoldingMasker(iter([7] * 9)))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write)
            for time, chunk in enumerate((b"abc", b"defg", b"hijklmn")):
                tape.append(time * ONE_MOMENT_NS, chunk)
                tape.flush()
        tape.append(9 * ONE_MOMENT_NS, b"later")
        tape.flush()
        tape.close()
    data, arrivals = read_tape(tmp_path)
    assert b"abcdefghijklmn".startswith(data) or room >= 38
    assert len(data) == sum(arrival.length for arrival in arrivals)
    assert len(data) + tape.lost_bytes == 19
    if room < 38:  # 3 + 4 + 7 bytes and two or three records
        assert tape.failure is not None
        assert tape.failure.errno == errno.ENOSPC


@pytest.mark.process
def test_a_full_disk_is_counted_to_the_byte_and_raises_nothing(small_disk: Path) -> None:
    chunk = b"x" * 10_000
    with Folder(small_disk) as folder:
        tape = StreamWriter(folder, layout.STDOUT, Redactor(findings=Findings()).stream("x"))
        for time in range(100):
            tape.append(time, chunk + b"\n")
        tape.close()
    data, arrivals = read_tape(small_disk, layout.STDOUT)
    assert tape.failure is not None
    assert tape.failure.errno == errno.ENOSPC
    assert len(data) == sum(arrival.length for arrival in arrivals)
    assert len(data) > 300_000
    assert len(data) + tape.lost_bytes == 100 * 10_001
