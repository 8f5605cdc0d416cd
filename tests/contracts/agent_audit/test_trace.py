"""What is written as a trace is read back as the same bytes."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from steno.contracts.agent_audit.strace_reader import reconstruct, unquoted
from steno.contracts.agent_audit.streams import MOST_SHOWN, Piece, quoted, trace

_BYTES = st.one_of(st.binary(max_size=50), st.text('é\x1b0189"\\\n\r\t\x7f', max_size=50).map(str.encode))
_PIECES = st.lists(st.builds(Piece, st.integers(0, 9), st.sampled_from(["stdout", "stderr"]), _BYTES))


@given(_BYTES)
def test_any_bytes_survive_quoting(data: bytes) -> None:
    assert unquoted(quoted(data)) == data
    assert quoted(data).isascii()
    assert b"\n" not in quoted(data)


@given(_PIECES, st.integers(1, 4_000_000), st.integers(0, 5000))
def test_writing_and_reconstructing_gives_the_same_streams(pieces: list[Piece], pid: int, pts: int) -> None:
    pieces.sort(key=lambda piece: piece.mono_ns)
    out, err = io.BytesIO(), io.BytesIO()
    made = reconstruct(trace(pieces, pid=pid, pts=pts), out, err)
    assert out.getvalue() == b"".join(piece.data for piece in pieces if piece.stream == "stdout")
    assert err.getvalue() == b"".join(piece.data for piece in pieces if piece.stream == "stderr")
    assert made.diagnostics == []
    assert made.by_first_unoccupied == 0


def test_tapes_are_merged_by_time() -> None:
    stdout = [Piece(1, "stdout", b"a"), Piece(4, "stdout", b"d")]
    stderr = [Piece(2, "stderr", b"b"), Piece(3, "stderr", b"c")]
    shown = [line.split(b'"')[1] for line in trace(stdout, stderr, pid=1, pts=0)]
    assert shown == [b"a", b"b", b"c", b"d"]


def test_lines_look_as_those_of_strace() -> None:
    assert list(trace([Piece(0, "stderr", b"\x1b[0m\0001\n")], pid=29999, pts=7)) == [
        b'29999 write(2</dev/pts/7<char 136:7>>, "\\33[0m\\0001\\n", 7) = 7\n'
    ]
    assert list(trace([Piece(0, "stdout", b"")], pid=1, pts=0)) == []


def test_a_piece_that_strace_would_cut_becomes_several_lines() -> None:
    data = b"x" * (2 * MOST_SHOWN + 1)
    lines = list(trace([Piece(0, "stdout", data)], pid=1, pts=0))
    assert [line.rsplit(b"= ")[1] for line in lines] == [b"65535\n", b"65535\n", b"1\n"]
    out = io.BytesIO()
    reconstruct(lines, out, io.BytesIO())
    assert out.getvalue() == data
