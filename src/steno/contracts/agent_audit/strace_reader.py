"""stdout and stderr, rebuilt from a trace of the writes to a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from steno.contracts.agent_audit.streams import STDERR, STDOUT
from steno.errors import BadRequestError
from steno.lines import LineSplitter, LineTooLongError

MAX_LINE = 16 << 20
MOST_BEGUN = 64 << 20  # bytes of lines that were begun and not resumed, with what it costs to hold each
_COST = 256
FAILED = -1  # and so nothing was written, also when the call is begun again after a signal
MOST_BUFFERS = 1024  # the kernel takes no more in one call

# --- codes of what may be wrong with a trace; docs/agents.md has them all ---------------------------
LINE_TOO_LONG = "LINE_TOO_LONG"
LINE_UNREADABLE = "LINE_UNREADABLE"
WRITE_NOT_RESUMED = "WRITE_NOT_RESUMED"
WRITE_NOT_BEGUN = "WRITE_NOT_BEGUN"
NOT_A_TRACE = "NOT_A_TRACE"


class Part(NamedTuple):
    """One buffer of a write: what the line shows of it, still escaped, and how long it was."""

    quoted: bytes
    length: int


class Write(NamedTuple):
    fd: int
    destination: bytes | None  # none: the trace does not say
    parts: tuple[Part, ...]
    length: int | None  # of all parts; none: the trace does not show every part
    result: int | None  # how many bytes were written, or FAILED; none: the trace does not say


class Dumped(NamedTuple):
    """One line of the hex dump beneath a write."""

    buffer: int
    offset: int
    data: bytes


class Trouble(NamedTuple):
    code: str


_POINTER = rb"(?:0x[0-9a-f]++|NULL)"
_BYTES = rb'(?:"(?P<text>(?:[^"\\]++|\\.)*+)"(?:\.\.\.)?|' + _POINTER + rb")"
_LEADER = re.compile(
    rb"(?:\[pid +(?P<bracketed>\d{1,10})\] +|(?P<plain>\d{1,10}) +)?"
    rb"(?:\d\d:\d\d:\d\d(?:\.\d+)? +| *\d{1,20}\.\d{1,9} +)?"
)
_CALL = re.compile(rb"(?P<name>writev?)\((?P<fd>\d{1,10})")
_LIKE_A_CALL = re.compile(rb"writev?\(")
_DESTINATION = re.compile(rb"<(.*?)>(?:\(deleted\))?(?=, (?:[\"\[]|0x|NULL))", re.DOTALL)
_ONE_BUFFER = re.compile(rb", " + _BYTES + rb", (?P<length>\d{1,20})", re.DOTALL)
_BUFFER = re.compile(
    rb"\{(?:iov_base=)?" + _BYTES + rb", (?:iov_len=)?(?P<length>\d{1,20})\}(?:, )?", re.DOTALL
)
_BUFFERS_END = re.compile(rb"(?P<more>\.\.\.|(?:\{\.\.\.\}(?:, )?)+)?\], \d{1,10}")
_BUFFERS_UNSEEN = re.compile(rb", " + _POINTER + rb", \d{1,10}")
_RESULT = re.compile(rb" ?\) *= (?:(?P<count>\d{1,20})|(?P<nothing>-1 |\? ERESTART)|(?P<unknown>\?))")
_BEGUN = b" <unfinished ...>"
_RESUMED = re.compile(rb"<\.\.\. (?P<name>\w+) resumed>(?:,? )?")
_OF_STRACE = re.compile(rb"\w+\(|<\.\.\. \w|\+\+\+ |--- |strace: ")
_GONE = re.compile(rb"\+\+\+ ")
_DUMP = re.compile(rb" \| (?P<offset>[0-9a-f]{5,16})  (?P<hex>(?:[0-9a-f]{2} {1,2}){1,16}) ")
_DUMP_OF = re.compile(rb" \* \d{1,20} bytes in buffer (?P<buffer>\d{1,4})\s*$")

# What Python's own decoder reads in the same way, many times faster. No possessive group: before 3.11.5
# Python lets one end in the midst of what it repeats.
_WELL_ESCAPED = re.compile(rb'(?:[^\\]++|\\(?:[ntrfv"\\]|x[0-9a-fA-F]{2}|(?![4-7][0-7]{2})[0-7]{1,3}+))*')
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = (
    {b"%o" % value: bytes([value]) for value in range(256)}
    | {b"%03o" % value: bytes([value]) for value in range(256)}
    | {b"%02o" % value: bytes([value]) for value in range(64)}
    | {b"x%02x" % value: bytes([value]) for value in range(256)}
    | {
        b"n": b"\n",
        b"t": b"\t",
        b"r": b"\r",
        b"f": b"\f",
        b"v": b"\v",
        b"a": b"\a",
        b"b": b"\b",
        b"e": b"\x1b",
    }
)


def unquoted(quoted: bytes) -> bytes:
    """The bytes that strace shows as this string."""
    if b"\\" not in quoted:
        return quoted
    if _WELL_ESCAPED.fullmatch(quoted):
        return quoted.decode("unicode_escape").encode("latin-1")
    return _ESCAPE.sub(_meaning, quoted)


class TraceLines:
    """Give it every line, in order; then ask what was never resumed."""

    def __init__(self) -> None:
        self._begun: dict[bytes, bytes] = {}  # by process
        self._held = 0
        self._buffer = 0

    def read(self, line: bytes | LineTooLongError) -> Write | Dumped | Trouble | None:
        """None: a line that is about something else."""
        if isinstance(line, LineTooLongError):
            return Trouble(LINE_TOO_LONG)
        if line.startswith(b" ") and (dumped := self._dump(line)) is not None:
            return dumped
        self._buffer = 0
        leader = _LEADER.match(line)
        process = (leader["bracketed"] or leader["plain"] or b"") if leader else b""
        return self._call(process, line, leader.end() if leader else 0)

    def never_resumed(self) -> int:
        return len(self._begun)

    def _dump(self, line: bytes) -> Dumped | None:
        if found := _DUMP.match(line):
            return Dumped(self._buffer, int(found["offset"], 16), bytes.fromhex(found["hex"].decode()))
        if found := _DUMP_OF.match(line):
            self._buffer = int(found["buffer"])
            return Dumped(self._buffer, 0, b"")
        return None

    def _call(self, process: bytes, line: bytes, start: int) -> Write | Trouble | None:
        if resumed := _RESUMED.match(line, start):
            return self._resume(process, resumed["name"], line[resumed.end() :])
        if _GONE.match(line, start):
            return Trouble(WRITE_NOT_RESUMED) if self._take(process) is not None else None
        if not _LIKE_A_CALL.match(line, start):
            return None if _OF_STRACE.match(line, start) else Trouble(NOT_A_TRACE)
        text = line[start:].rstrip(b"\r\n")
        if text.endswith(_BEGUN):
            return self._begin(process, text[: -len(_BEGUN)])
        return _write(text)

    def _begin(self, process: bytes, text: bytes) -> Trouble | None:
        forgotten = self._take(process) is not None
        if self._held + len(text) + _COST > MOST_BEGUN:
            return Trouble(WRITE_NOT_RESUMED)
        self._begun[process] = text
        self._held += len(text) + _COST
        return Trouble(WRITE_NOT_RESUMED) if forgotten else None

    def _resume(self, process: bytes, name: bytes, rest: bytes) -> Write | Trouble | None:
        if name not in {b"write", b"writev"}:
            return None
        text = self._take(process)
        if text is None and (process == b"" or b"" in self._begun):
            # On a terminal strace names the process only while there is more than one.
            text = self._take(next(iter(self._begun), b"") if process == b"" else b"")
        return _write(text + rest) if text is not None else Trouble(WRITE_NOT_BEGUN)

    def _take(self, process: bytes) -> bytes | None:
        text = self._begun.pop(process, None)
        if text is not None:
            self._held -= len(text) + _COST
        return text


def _write(text: bytes) -> Write | Trouble:
    call = _CALL.match(text)
    if call is None:
        return Trouble(LINE_UNREADABLE)
    at = call.end()
    to = _DESTINATION.match(text, at)
    found = (_one_buffer if call["name"] == b"write" else _buffers)(text, to.end() if to else at)
    if found is None:
        return Trouble(LINE_UNREADABLE)
    parts, length, at = found
    result = _RESULT.match(text, at)
    if result is None:
        return Trouble(LINE_UNREADABLE)
    written = int(result["count"]) if result["count"] else FAILED if result["nothing"] else None
    return Write(int(call["fd"]), _named(to[1]) if to else None, parts, length, written)


def _named(destination: bytes) -> bytes:
    """With -xx strace spells the name of a file, too; the device behind it never."""
    name, device, number = destination.partition(b"<")
    return unquoted(name) + device + number


_Parts = tuple[tuple[Part, ...], int | None, int]


def _one_buffer(text: bytes, at: int) -> _Parts | None:
    found = _ONE_BUFFER.match(text, at)
    if found is None:
        return None
    length = int(found["length"])
    return (Part(found["text"] or b"", length),), length, found.end()


def _buffers(text: bytes, at: int) -> _Parts | None:
    if unseen := _BUFFERS_UNSEEN.match(text, at):
        return (), None, unseen.end()
    if not text.startswith(b", [", at):
        return None
    at += len(b", [")
    parts: list[Part] = []
    while found := _BUFFER.match(text, at):
        parts.append(Part(found["text"] or b"", int(found["length"])))
        at = found.end()
        if len(parts) > MOST_BUFFERS:
            return None
    end = _BUFFERS_END.match(text, at)
    if end is None:
        return None
    return tuple(parts), None if end["more"] else sum(part.length for part in parts), end.end()


def _meaning(escape: re.Match[bytes]) -> bytes:
    said = escape[1]
    found = _ESCAPED.get(said)
    if found is not None:
        return found
    if said[:1] == b"x" and len(said) > 1:
        return bytes([int(said[1:], 16)])
    return bytes([int(said, 8) & 0xFF]) if said.isdigit() and len(said) > 1 else said


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
    LINE_TOO_LONG: ("line", "too long to be read"),
    LINE_UNREADABLE: ("line", "like the beginning of a write, which cannot be read"),
    WRITE_NOT_RESUMED: ("write", "begun, without a word in the trace about the end"),
    WRITE_NOT_BEGUN: ("write", "ended, without its beginning in the trace"),
    OUTCOME_UNKNOWN: ("write", "to the terminal ended, without a word in the trace about how"),
    DESTINATION_UNKNOWN: ("write", "without a destination in the trace, left out (strace -yy shows it)"),
    NOT_A_TRACE: ("line", "unlike those that strace writes, and no write in the trace"),
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
    cutter = LineSplitter(MAX_LINE)
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
        self._troubles[WRITE_NOT_RESUMED] += self._lines.never_resumed()
        if len(self._terminals) > 1:
            self._troubles[SEVERAL_TERMINALS] = len(self._terminals)
        chunks = sum(self._chunks.values())
        if self._writes_read:  # what stands between them is what the program said
            del self._troubles[NOT_A_TRACE]
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
            self._troubles[DESTINATION_UNKNOWN] += write.result != FAILED
            return
        if not is_terminal(write.destination) or write.result == FAILED:
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
