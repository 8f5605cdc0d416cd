"""stdout and stderr, rebuilt from a trace of the writes to a terminal.

In: the lines of a trace, ours or strace's. Out: the bytes of both streams in two files, in the order of the
trace, and what is to be known about them: how many writes each has, how their stream was found, what is
missing. Memory stays flat. Never guesses bytes: what a trace does not show is counted as lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from steno.agents import trace_lines
from steno.agents.trace_lines import Dumped, Part, TraceLines, Trouble, Write, unquoted
from steno.contracts.agent_audit.streams import STDERR, STDOUT
from steno.errors import BadRequestError
from steno.lines import LineSplitter, LineTooLongError

_STANDARD = {1: STDOUT, 2: STDERR}
BLOCK = 1 << 20
_MOST_TERMINALS = 16  # that are named
_LONGEST_NAME = 256

BYTES_LOST = "BYTES_LOST"
OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
DESTINATION_UNKNOWN = "DESTINATION_UNKNOWN"
NO_TERMINAL = "NO_TERMINAL"
SEVERAL_TERMINALS = "SEVERAL_TERMINALS"
CONTROLLING_TERMINAL = "CONTROLLING_TERMINAL"

# code -> what it means, for a reader: the thing that is counted, and what is the matter with it
MEANINGS = {
    BYTES_LOST: ("byte", "written and not in the trace (strace cuts at -s; -e write=1,2 keeps them)"),
    trace_lines.LINE_TOO_LONG: ("line", "too long to be read"),
    trace_lines.LINE_UNREADABLE: ("line", "like the beginning of a write, which cannot be read"),
    trace_lines.WRITE_NOT_RESUMED: ("write", "begun, without a word in the trace about the end"),
    trace_lines.WRITE_NOT_BEGUN: ("write", "ended, without its beginning in the trace"),
    OUTCOME_UNKNOWN: ("write", "to the terminal ended, without a word in the trace about how"),
    DESTINATION_UNKNOWN: ("write", "without a destination in the trace, left out (strace -yy shows it)"),
    trace_lines.NOT_A_TRACE: ("line", "unlike those that strace writes, and no write in the trace"),
    NO_TERMINAL: ("line", "in the trace, and no write to a terminal"),
    SEVERAL_TERMINALS: ("terminal", "written to, and all of it is in the streams"),
    CONTROLLING_TERMINAL: ("write", "to /dev/tty, in the streams with the others"),
}
_DEVICE = re.compile(rb"<char (\d{1,10}):\d+>$")
_TERMINAL_MAJORS = range(136, 144)
HINT = "name a file that `strace -f -yy -e write=1,2 -o FILE` or `steno agent` wrote"
NOT_A_LOSS = frozenset({NO_TERMINAL, SEVERAL_TERMINALS, CONTROLLING_TERMINAL})


class ByteSink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Diagnostic(msgspec.Struct, frozen=True):
    code: str
    count: int


class Reconstruction(msgspec.Struct, frozen=True, rename="camel"):
    stdout_chunks: int
    stderr_chunks: int
    stdout_bytes: int
    stderr_bytes: int
    by_descriptor: int  # writes whose descriptor was 1 or 2
    by_first_unoccupied: int  # all others
    terminals: list[str]
    diagnostics: list[Diagnostic]

    @property
    def complete(self) -> bool:
        return all(diagnostic.code in NOT_A_LOSS for diagnostic in self.diagnostics)


class FirstUnoccupied:
    """Which stream a descriptor is: 1 and 2 are what they are, others take what no descriptor holds yet."""

    def __init__(self) -> None:
        self._held: dict[int, str] = {}

    def __call__(self, fd: int) -> str:
        if fd in self._held:
            return self._held[fd]
        taken = set(self._held.values())
        stream = _STANDARD.get(fd) or (STDERR if taken == {STDOUT} else STDOUT)
        if stream not in taken:  # once both are held, every new descriptor is stdout: nothing to remember
            self._held[fd] = stream
        return stream


def reconstruct(lines: Iterable[bytes | LineTooLongError], out: ByteSink, err: ByteSink) -> Reconstruction:
    rebuilding = _Rebuilding({STDOUT: out, STDERR: err})
    for line in lines:
        rebuilding.take(line)
    return rebuilding.finished()


def trace_file_lines(path: Path) -> Iterator[bytes | LineTooLongError]:
    cutter = LineSplitter(trace_lines.MAX_LINE)
    try:
        with path.open("rb") as trace:
            while block := trace.read(BLOCK):
                yield from cutter.feed(block)
    except OSError as error:
        raise BadRequestError(f"cannot read {path}: {error.strerror}", hint=HINT) from error
    if rest := cutter.rest():
        yield rest


def is_terminal(destination: bytes) -> bool:
    """As in the contract, or /dev/tty. The other end of a terminal (`/dev/pts/ptmx<char 5:2>`) is none."""
    if is_controlling_terminal(destination):
        return True
    device = _DEVICE.search(destination)
    return b"/dev/pts/" in destination and (device is None or int(device[1]) in _TERMINAL_MAJORS)


def is_controlling_terminal(destination: bytes) -> bool:
    return destination == b"/dev/tty" or destination.startswith(b"/dev/tty<")


class _Rebuilding:
    def __init__(self, files: dict[str, ByteSink]) -> None:
        self._files = files
        self._lines = TraceLines()
        self._stream_of = FirstUnoccupied()
        self._open: _Chunk | None = None
        self._chunks = {STDOUT: 0, STDERR: 0}
        self._bytes = {STDOUT: 0, STDERR: 0}
        self._by_descriptor = 0
        self._terminals: dict[bytes, None] = {}
        self._troubles: Counter[str] = Counter()
        self._lines_read = 0
        self._writes_read = 0

    def take(self, line: bytes | LineTooLongError) -> None:
        self._lines_read += 1
        read = self._lines.read(line)
        if isinstance(read, Dumped):
            if self._open is not None:
                self._put(self._open.stream, self._open.dumped(read))
            return
        self._close()
        match read:
            case Trouble(code):
                self._troubles[code] += 1
            case Write():
                self._writes_read += 1
                self._write(read)

    def finished(self) -> Reconstruction:
        self._close()
        self._troubles[trace_lines.WRITE_NOT_RESUMED] += self._lines.never_resumed()
        if len(self._terminals) > 1:
            self._troubles[SEVERAL_TERMINALS] = len(self._terminals)
        chunks = sum(self._chunks.values())
        if self._writes_read:  # what stands between them is what the program said
            del self._troubles[trace_lines.NOT_A_TRACE]
        if not chunks and not +self._troubles:
            self._troubles[NO_TERMINAL] = self._lines_read
        return Reconstruction(
            stdout_chunks=self._chunks[STDOUT],
            stderr_chunks=self._chunks[STDERR],
            stdout_bytes=self._bytes[STDOUT],
            stderr_bytes=self._bytes[STDERR],
            by_descriptor=self._by_descriptor,
            by_first_unoccupied=chunks - self._by_descriptor,
            terminals=[name.decode("utf-8", "backslashreplace") for name in self._terminals],
            diagnostics=[Diagnostic(code, self._troubles[code]) for code in MEANINGS if self._troubles[code]],
        )

    def _write(self, write: Write) -> None:
        if write.destination is None:
            self._troubles[DESTINATION_UNKNOWN] += write.result != trace_lines.FAILED
            return
        if not is_terminal(write.destination) or write.result == trace_lines.FAILED:
            return
        if write.result is None:
            self._troubles[OUTCOME_UNKNOWN] += 1
            return
        stream = self._stream_of(write.fd)
        self._note(write)
        self._chunks[stream] += 1
        self._open = _Chunk(stream, write.parts, _limit(write.result, write.length))
        self._put(stream, self._open.shown())

    def _note(self, write: Write) -> None:
        self._by_descriptor += write.fd in _STANDARD
        name = (write.destination or b"").partition(b"<")[0][:_LONGEST_NAME]
        if is_controlling_terminal(name):
            self._troubles[CONTROLLING_TERMINAL] += 1
        elif len(self._terminals) < _MOST_TERMINALS:
            self._terminals[name] = None

    def _close(self) -> None:
        if self._open is not None:
            self._put(self._open.stream, self._open.rest())
            self._troubles[BYTES_LOST] += self._open.lost
            self._open = None

    def _put(self, stream: str, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self._files[stream].write(piece)
            self._bytes[stream] += len(piece)


class _Chunk:
    """One write: first what its line shows without a hole, then what its dump has, then what is left."""

    def __init__(self, stream: str, parts: Iterable[Part], limit: int) -> None:
        self.stream = stream
        self.lost = 0
        self._limit = limit
        self._at = 0
        self._starts: list[int] = []
        self._parts: list[tuple[int, Part]] = []
        start = 0
        for part in parts:
            self._starts.append(start)
            self._parts.append((start, part))
            start += part.length

    def shown(self) -> Iterator[bytes]:
        while self._parts and self._at == self._parts[0][0]:
            start, part = self._parts.pop(0)
            yield self._cut(unquoted(part.quoted)[: part.length])
            if self._at < min(start + part.length, self._limit):
                return

    def dumped(self, piece: Dumped) -> Iterator[bytes]:
        if piece.buffer < len(self._starts):
            start = self._starts[piece.buffer] + piece.offset
            if start <= self._at < start + len(piece.data):
                yield self._cut(piece.data[self._at - start :])

    def rest(self) -> Iterator[bytes]:
        for start, part in self._parts:
            if start + part.length <= self._at or start >= self._limit:
                continue
            data = unquoted(part.quoted)[: part.length]
            self._skip_to(start)
            yield self._cut(data[self._at - start :])
        self._skip_to(self._limit)

    def _skip_to(self, place: int) -> None:
        if place > self._at:
            self.lost += place - self._at
            self._at = place

    def _cut(self, data: bytes) -> bytes:
        """A write that was partial put only its first bytes on the terminal."""
        data = data[: self._limit - self._at]
        self._at += len(data)
        return data


def _limit(result: int, length: int | None) -> int:
    return result if length is None else min(result, length)
