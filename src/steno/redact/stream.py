"""Equal-length masking of an endless stream of bytes.

`feed` gives what is final, `settle` also what cannot be part of a secret, `close` the rest. No more than
about `WINDOW` bytes are held back, the result does not depend on how the bytes were cut, and no secret is
counted twice. A key between its two lines (`BEGIN PRIVATE KEY`) may be longer than any window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steno.redact.rule import compile_rule, regex
from steno.redact.scanner import MASK, Scanner, Span, masked, merged
from steno.redact.strings import Strings
from steno.redact.text import ESCAPE, opens_next_line, strip_sequences
from steno.redact.vocabulary import is_masked

if TYPE_CHECKING:
    from collections.abc import Callable

    from steno.redact.findings import Findings


WINDOW = 64 << 10
CONTEXT = 4 << 10
PROGRESS = WINDOW // 4
OVERSIZED = "oversized-value"

_QUOTED_END = compile_rule(rb"[\r\n\"'`]")
_DOCUMENT = regex(rb"[ \t]*\{[^\n]*\}\s*\Z")  # a key that ends on such a line does not go on below
_BARE_END = compile_rule(rb"[\s\"'`]")
BLOCK_LIMIT = 64 << 10
STRAYS = 8
STRAYS_BEFORE_MATERIAL = 2
_KINDS = (b"-----BEGIN ", b"-----END ")
_COLOURS = rb"(?:\x1b(?:\[[?]?[0-9;:]*[@-~]\x0f?|[()][A-Z0-9]|\]8;[^\x07\x1b\r\n]*(?:\x07|\x1b\\)))*"
_PLAIN = tuple(compile_rule(kind + rb"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----") for kind in _KINDS)
KEY_BLOCK = "private-key"
_MATERIAL = compile_rule(
    rb"[A-Za-z0-9+/=]{24,}|^[^A-Za-z0-9*]*[A-Za-z0-9+/]+={0,2}[^A-Za-z0-9*]*$|^[A-Za-z-]+: "
)
# A string literal that holds nothing but the marker: only strings of key material continue it.
_LITERAL = regex(rb"(?:\\[nr])*[\"'`]")
_QUOTED_MATERIAL = regex(rb"[^A-Za-z0-9]*[\"'`][A-Za-z0-9+/=]{16,}(?:\\[nr])*[\"'`]")
_FIRST_MATERIAL = compile_rule(
    rb"[A-Za-z0-9+/=]{24,}|^[+ >-]?(?:Version|Comment|Proc-Type|DEK-Info|Charset|Hash|MessageID): "
)
_QUOTES = regex(rb"(?:\\[nrt]|[\"',;+\\)\s`])*\Z")


class StreamRedactor:
    """Masks one stream. `note` is told every span, in offsets of the stream."""

    def __init__(
        self,
        scanner: Scanner,
        where: str,
        findings: Findings | None,
        note: Callable[[Span], None] | None = None,
    ) -> None:
        self._scanner = scanner
        self._where = where
        self._findings = findings
        self._note = note
        self._block = KeyBlock()
        self._raw = b""  # from the start of the line, or of the window; kept until its end is known
        self._offset = 0  # of _raw in the stream
        self._done = 0  # bytes of _raw that are decided: context for what follows
        self._sent = 0  # bytes of _raw that were returned
        self._inside_line = False
        self._value_end: Any = None  # the pattern that ends an oversized value, while inside one

    def feed(self, data: bytes) -> bytes:
        buffer = self._raw + data if self._raw else data
        out: list[bytes] = []
        position = 0
        while position < len(buffer):
            taken = self._step(buffer, position, out)
            if not taken:
                break
            position += taken
            self._offset += taken
        self._raw = buffer[position:] if position else buffer
        return b"".join(out) if len(out) != 1 else out[0]

    def settle(self) -> bytes:
        """The stream is idle: return all that cannot be part of a secret. Nothing is counted yet."""
        if self._block.active or not self._raw:
            return b""
        spans = self._scanner.spans(self._raw, inside_line=self._inside_line)
        limit = min(self._scanner.open_at(self._raw, spans), self._open_block(), self._undecided(spans))
        if limit <= self._sent:
            return b""
        shown = masked(self._raw, spans)[self._sent : limit]
        self._sent = limit
        return shown

    def _undecided(self, spans: list[Span]) -> int:
        """The start of the first value that stands in a string whose end has not come."""
        strings = Strings(self._raw)
        starts = (span.start for span in spans if not self._inside_line and strings.is_undecided(span.start))
        return next(starts, len(self._raw))

    def _open_block(self) -> int:
        """The end of a marker that opens a block of a private key: the rest of its line is held."""
        ending = end_in(self._raw)
        for marker in begin_in(self._raw).finditer(self._raw):
            if ending.search(self._raw, marker.end()) is None:
                return int(marker.end())
        return len(self._raw)

    def close(self) -> bytes:
        out = self._finish_lines(self._raw)
        self._offset += len(self._raw)
        self._raw = b""
        self._count_block()
        return out

    def _step(self, buffer: bytes, position: int, out: list[bytes]) -> int:
        """Decide some bytes from `position` on; return by how many the line or window moves on."""
        if self._value_end is not None:
            taken = self._swallow(buffer, position, out)
            if taken or self._value_end is not None:
                return taken
        end = self._end_of_lines(buffer, position)
        if end:
            out.append(self._finish_lines(buffer[position:end]))
            return end - position
        if len(buffer) - position < WINDOW:
            return 0
        return self._finish_window(buffer[position : position + WINDOW], out)

    def _end_of_lines(self, buffer: bytes, position: int) -> int:
        reach = position + WINDOW
        if self._inside_line:
            return buffer.find(b"\n", position + self._done, reach) + 1
        end = buffer.rfind(b"\n", position, reach) + 1
        if not end:
            return 0
        start = buffer.rfind(b"\n", position, end - 1) + 1 or position
        if not opens_next_line(buffer, start, end):
            return end
        if start > position:
            return start
        return end if len(buffer) >= reach else 0  # the next line does not fit into a window

    def _finish_lines(self, lines: bytes) -> bytes:
        """Whole lines, or the last piece of the stream."""
        spans = self._spans(lines)
        out = masked(lines, spans)[self._sent :] if spans else lines[self._sent :]
        self._report(lines, spans, len(lines))
        self._inside_line = False
        self._done = self._sent = 0
        return out

    def _finish_window(self, window: bytes, out: list[bytes]) -> int:
        if self._block.active:
            return self._finish_block_window(window, out)
        spans = self._scanner.spans(window, inside_line=self._inside_line)
        open_at = self._scanner.open_at(window, spans)
        limit = min(WINDOW - CONTEXT, open_at)
        for span in spans:
            if span.start < limit < span.end <= open_at:
                limit = span.end
        if limit - self._done < PROGRESS:
            return self._mask_outright(window, spans, open_at, out)
        out.append(masked(window, spans)[self._sent : limit])
        self._report(window, spans, limit)
        moved = max(0, limit - CONTEXT)
        self._sent = max(self._sent, limit) - moved
        self._done = limit - moved
        self._inside_line = True
        return moved

    def _finish_block_window(self, window: bytes, out: list[bytes]) -> int:
        out.append(self._finish_lines(window))
        self._inside_line = True
        return len(window)

    def _mask_outright(self, window: bytes, spans: list[Span], start: int, out: list[bytes]) -> int:
        start = max(start, self._done)
        quoted = window[start - 1 : start] in {b'"', b"'", b"`"}
        self._value_end = _QUOTED_END if quoted else _BARE_END
        all_spans = merged([*spans, Span(start, len(window), OVERSIZED)])
        out.append(masked(window, all_spans)[self._sent :])
        self._report(window, all_spans, len(window))
        self._inside_line = True
        self._done = self._sent = 0
        return len(window)

    def _swallow(self, buffer: bytes, position: int, out: list[bytes]) -> int:
        """Inside an oversized value: mask up to its end."""
        ending = self._value_end.search(buffer, position)
        end = len(buffer) if ending is None else ending.start()
        if ending is not None:
            self._value_end = None
        out.append(MASK * (end - position))
        if self._note is not None and end > position:
            self._note(Span(self._offset, self._offset + end - position, OVERSIZED))
        return end - position

    def _spans(self, lines: bytes) -> list[Span]:
        """The spans of whole lines; enters and leaves blocks of private keys on the way."""
        if not self._block.active and begin_in(lines).search(lines) is None:
            return self._scanner.spans(lines, inside_line=self._inside_line)
        spans: list[Span] = []
        position = 0
        while position < len(lines):
            if self._block.active:
                position = self._read_block_line(lines, position, spans)
            else:
                position = self._read_to_block(lines, position, spans)
        return merged(spans)

    def _read_block_line(self, lines: bytes, position: int, spans: list[Span]) -> int:
        end = lines.find(b"\n", position) + 1 or len(lines)
        line = lines[position:end]
        start, stop = self._block.line(line)
        if stop > start:
            spans.append(Span(position + start, position + stop, KEY_BLOCK))
        else:
            self._read_plainly(lines, position, end, spans)
        if not self._block.active:
            self._count_block()
        return end

    def _read_to_block(self, lines: bytes, position: int, spans: list[Span]) -> int:
        """Ordinary lines up to the end of the one with the next marker that is not closed on its line."""
        ending = end_in(lines)
        for marker in begin_in(lines).finditer(lines, position):
            begin = lines.rfind(b"\n", 0, marker.start()) + 1
            end = lines.find(b"\n", marker.end()) + 1 or len(lines)
            if ending.search(lines, marker.end(), end) is not None:
                continue
            start, stop = self._block.enter(lines[marker.end() : end])
            place = (marker.end() + start, marker.end() + stop)
            strings = None if self._inside_line else Strings(lines)
            if stop > start:
                if strings is not None:
                    place = strings.fitted(marker.start(), *place, lines=True)
                spans.append(Span(*place, KEY_BLOCK))
            if strings is not None and strings.is_inside(marker.end()) and _DOCUMENT.match(lines, begin, end):
                self._block.active = False
                self._count_block()
            break
        else:
            end = len(lines)
        self._read_plainly(lines, position, end, spans)
        return end

    def _read_plainly(self, lines: bytes, position: int, end: int, spans: list[Span]) -> None:
        spans.extend(
            Span(position + start, position + stop, rule)
            for start, stop, rule in self._scanner.spans(
                lines[position:end], inside_line=self._inside_line and not position
            )
        )

    def _report(self, data: bytes, spans: list[Span], limit: int) -> None:
        """Count what was decided now: not what is context, nor what lies past the limit."""
        for start, end, rule in spans:
            if end <= self._done or start >= limit:
                continue
            if self._note is not None:
                self._note(Span(self._offset + max(start, self._done), self._offset + min(end, limit), rule))
            if self._findings is not None and start >= self._done and rule != KEY_BLOCK:
                self._findings.add(self._where, rule, strip_sequences(data[start:end]))

    def _count_block(self) -> None:
        secret = self._block.secret()
        if secret and self._findings is not None:
            self._findings.add(self._where, KEY_BLOCK, secret)


def _coloured(letters: bytes) -> bytes:
    return b"".join(b"%c%s" % (letter, _COLOURS) for letter in letters)


_IN_COLOUR = tuple(
    compile_rule(
        _coloured(kind)
        + b"(?:[A-Z0-9 ]%s){0,40}" % _COLOURS
        + _coloured(b"PRIVATE KEY")
        + b"(?:%s)?" % _coloured(b" BLOCK")
        + _coloured(b"----")
        + b"-"
    )
    for kind in _KINDS
)


def begin_in(data: bytes) -> Any:
    """The pattern of BEGIN; escape sequences may stand in it."""
    return (_IN_COLOUR if ESCAPE in data else _PLAIN)[0]


def end_in(data: bytes) -> Any:
    return (_IN_COLOUR if ESCAPE in data else _PLAIN)[1]


class KeyBlock:
    """The state between BEGIN and END."""

    __slots__ = ("_literal", "_masked_before", "_material", "_seen", "_size", "_strays", "active")

    def __init__(self) -> None:
        self.active = False
        self._material = bytearray()
        self._begin()

    def _begin(self) -> None:
        self._material.clear()
        self._size = 0
        self._strays = 0
        self._seen = False
        self._masked_before = False
        self._literal = False

    def enter(self, rest_of_line: bytes) -> tuple[int, int]:
        """The marker was seen; return the part of the rest of its line that is to be masked."""
        self._begin()
        self.active = True
        content = strip_sequences(rest_of_line).strip()
        self._masked_before = bool(content) and is_masked(content)
        self._literal = _LITERAL.match(content) is not None
        self._seen = not self._masked_before and self._is_material(content)
        return self._mask(rest_of_line) if self._seen else (0, 0)

    def line(self, line: bytes) -> tuple[int, int]:
        """One more line; return the part of it that is to be masked."""
        ending = end_in(line).search(line)
        if ending is None:
            self._judge(strip_sequences(line).strip())
            return self._mask(line) if self.active and self._seen else (0, 0)
        self.active = False
        before = line[: ending.start()]
        return (
            self._mask(before) if self._seen or self._is_material(strip_sequences(before).strip()) else (0, 0)
        )

    def _judge(self, content: bytes) -> None:
        if not content:
            return
        if is_masked(content):
            self._masked_before = self._masked_before or not self._seen
        elif self._masked_before:
            # The block was masked by an earlier pass, which left it here; so does this one.
            self.active = False
        elif self._is_material(content):
            self._strays = 0
            self._seen = True
        else:
            self._strays += 1
        limit = 1 if self._literal else STRAYS if self._seen else STRAYS_BEFORE_MATERIAL
        if self._strays >= limit or self._size >= BLOCK_LIMIT:
            self.active = False

    def _is_material(self, content: bytes) -> bool:
        """Once key material was seen, a short last line is some too."""
        if self._literal:
            return _QUOTED_MATERIAL.match(content) is not None
        if _QUOTES.match(content):
            return False
        return (_MATERIAL if self._seen else _FIRST_MATERIAL).search(content) is not None

    def _mask(self, part: bytes) -> tuple[int, int]:
        content = part.strip()
        if is_masked(content) or _QUOTES.match(content):
            return 0, 0
        start = part.find(content)
        self._size += len(content)
        self._material += strip_sequences(content)
        return start, start + len(content)

    def secret(self) -> bytes:
        """What was masked in the block, for the tally; empty when nothing was."""
        taken = bytes(self._material)
        self._material.clear()
        return taken
