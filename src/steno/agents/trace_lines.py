"""Reading the lines of strace: which of them are writes, to what, with which bytes.

In: one line after the other, as `strace -f -yy -e trace=write -e write=1,2` writes them, of many processes at
once; a line that was begun and later resumed is put together. Out: writes, pieces of hex dumps, and troubles
that are counted. What is held is what was begun and not resumed, up to a limit. Never fails on a line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from steno.lines import LineTooLongError

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
