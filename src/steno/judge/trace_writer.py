"""Writing a trace in the words of strace, from streams that are split already.

In: pieces of stdout and stderr with the times at which they came, the process, the number of the terminal.
Out: the lines that `strace -f -yy -s 65535 -e trace=write` would have written had every piece been one write.
A piece that strace would cut becomes several lines, so that no byte is missing. Never holds more than one.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

STDOUT, STDERR = "stdout", "stderr"
MOST_SHOWN = 65535  # strace -s
_RESULT_COLUMN = 40  # strace -a
_TERMINAL_MAJOR = 136
_FD = {STDOUT: 1, STDERR: 2}
_BEFORE_A_DIGIT = re.compile(rb"[^ -~](?=[0-7])", re.DOTALL)
_NAMED = {
    b"\n": b"\\n",
    b"\t": b"\\t",
    b"\r": b"\\r",
    b"\f": b"\\f",
    b"\v": b"\\v",
    b'"': b'\\"',
    b"\\": b"\\\\",
}
_BYTES = [bytes([value]) for value in range(256)]
_SHORT = [_NAMED.get(byte, byte if b" " <= byte <= b"~" else b"\\%o" % byte[0]) for byte in _BYTES]
_LONG = [_NAMED.get(byte, b"\\%03o" % byte[0]) for byte in _BYTES]


class Piece(NamedTuple):
    mono_ns: int
    stream: str
    data: bytes


def trace(*tapes: Iterable[Piece], pid: int, pts: int) -> Iterator[bytes]:
    """The lines of all tapes, each of which is in order of time."""
    for piece in heapq.merge(*tapes, key=lambda piece: piece.mono_ns):
        for start in range(0, len(piece.data), MOST_SHOWN):
            yield _line(pid, pts, _FD[piece.stream], piece.data[start : start + MOST_SHOWN])


def quoted(data: bytes) -> bytes:
    """As strace shows a string: three digits only where fewer would run into the next character."""
    parts: list[bytes] = []
    start = 0
    for found in _BEFORE_A_DIGIT.finditer(data):
        parts += map(_SHORT.__getitem__, data[start : found.start()])
        parts.append(_LONG[found[0][0]])
        start = found.end()
    parts += map(_SHORT.__getitem__, data[start:])
    return b"".join(parts)


def _line(pid: int, pts: int, fd: int, data: bytes) -> bytes:
    device = b"/dev/pts/%d<char %d:%d>" % (pts, _TERMINAL_MAJOR, pts)
    call = b'%-5d write(%d<%s>, "%s", %d) ' % (pid, fd, device, quoted(data), len(data))
    return b"%s= %d\n" % (call.ljust(_RESULT_COLUMN), len(data))
