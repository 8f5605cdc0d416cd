"""The output of `iflow -p`: plain text, and a block of JSON between `<Execution Info>` tags.

In: stdout and stderr; the block comes on either. Out: the events. What stands on stdout outside of a block
is what the assistant says; where nothing does, and the turn did not fail, what stands on stderr is. A block
tells the session and the end of the turn. Tags around anything but an object are text. Which words mean that
a turn failed is said by the terminal signals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from steno.agents.definition import TerminalSignal, TerminalSignals
from steno.agents.events import AssistantText, Event, SessionStarted, Span, Stream, TurnEnded
from steno.agents.json_lines import MAX_RECORD, JsonObject, lines, record, text_at
from steno.agents.stream import Parser

SESSION_FIELD = "session-id"
_OPEN, _CLOSE = b"<Execution Info>", b"</Execution Info>"


class _Block(NamedTuple):
    start: int
    end: int
    info: JsonObject


def events(stdout: bytes, stderr: bytes, signals: Iterable[TerminalSignal]) -> Iterator[Event]:
    signals = list(signals)
    ends = TerminalSignals(signals, "stdout")
    answered = ended = False
    at = 0
    for block in _blocks(stdout):
        for said in _text(stdout, "stdout", at, block.start):
            answered = True
            yield said
        yield from _ended(block, stdout, "stdout", ends)
        ended, at = True, block.end
    for said in _text(stdout, "stdout", at, len(stdout)):
        answered = True
        yield said
    yield from _of_stderr(stderr, TerminalSignals(signals, "stderr"), answered=answered, ended=ended)


def _of_stderr(stderr: bytes, ends: TerminalSignals, *, answered: bool, ended: bool) -> Iterator[Event]:
    blocks = list(_blocks(stderr))
    outside = list(
        zip([0, *(one.end for one in blocks)], [*(one.start for one in blocks), len(stderr)], strict=True)
    )
    failed = any(
        ends.meaning(line.content, None) == "failed"
        for start, end in outside
        for line in lines(stderr, "stderr", start, end)
    )
    is_answer = not answered and not failed and (ended or bool(blocks))
    for (start, end), block in zip_longest(outside, blocks):
        yield from _text(stderr, "stderr", start, end) if is_answer else _noise(stderr, start, end, ends)
        if block is not None:
            yield from _ended(block, stderr, "stderr", ends)


class SessionFinder:
    """Given line after line, tells the sessions of the blocks that end in it."""

    def __init__(self) -> None:
        self._held = bytearray()  # from the last tag that opened a block

    def __call__(self, line: bytes) -> Iterator[str]:
        if not self._held and _OPEN not in line:
            return
        self._held += line
        if _CLOSE in line:
            yield from (text_at(block.info, SESSION_FIELD) for block in _blocks(bytes(self._held)))
            del self._held[: self._held.rfind(_CLOSE)]
        opened = self._held.rfind(_OPEN)
        if opened < 0 or len(self._held) - opened > MAX_RECORD:
            self._held.clear()
        else:
            del self._held[:opened]


def _blocks(data: bytes) -> Iterator[_Block]:
    at = 0
    while (end := data.find(_CLOSE, at)) >= 0:
        start = data.rfind(_OPEN, at, end)
        at = end + len(_CLOSE)
        info = record(data[start + len(_OPEN) : end]) if start >= 0 else None
        if info is not None:
            yield _Block(start, at, info)


def _ended(block: _Block, data: bytes, stream: Stream, ends: TerminalSignals) -> Iterator[Event]:
    spans = (Span(stream, block.start, block.end),)
    if session := text_at(block.info, SESSION_FIELD):
        yield SessionStarted(spans, session)
    meaning = ends.meaning(data[block.start : block.end], block.info)
    yield TurnEnded(spans, ok=meaning != "failed", reason="execution info")


def _noise(data: bytes, start: int, end: int, ends: TerminalSignals) -> Iterator[Event]:
    for line in lines(data, "stderr", start, end):
        other = line.other()
        if ends.meaning(line.content, None) == "failed":
            yield TurnEnded((line.span,), ok=False, reason=other.raw)
        else:
            yield other


def _text(data: bytes, stream: Stream, start: int, end: int) -> Iterator[Event]:
    part = data[start:end]
    said = part.strip()
    if said:
        start += len(part) - len(part.lstrip())
        span = Span(stream, start, start + len(said))
        yield AssistantText((span,), said.decode("utf-8", "backslashreplace").replace("\r\n", "\n"))


PARSER = Parser(SESSION_FIELD, events, sessions=SessionFinder)
