"""What one log says about the end of an attempt.

In: the bytes of a log, the terminal signals that may be in it, a reader of the agent's records if it writes
any, and what is known of the words that the agent was given. Out: the last done signal, whether there is a
marker, the last terminal signal, and what was wrong; apart for the agent's records and for all other lines,
since a stream of records has no words of the agent's between them. Of a record only what the assistant says
in it counts: what a tool printed is not the agent's word. Holds few lines and these few facts, however long
the log is. Never decides anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from steno.agents import done_signal
from steno.agents.done_signal import DoneSignal
from steno.agents.given_words import Trail
from steno.agents.log_text import BlockEnded, LineSkipped, LogLine, Passed, Wanted, lines_of_words, log_lines
from steno.agents.streams.documents import Document, without_documents
from steno.agents.streams.lines import Record, record
from steno.agents.streams.reading import Parser
from steno.agents.streams.records import Reader, events_of_record
from steno.agents.streams.said import AssistantText, Event, Span
from steno.agents.terminal_signal import ESCAPED, Meaning, TerminalSignals

MOST_PROBLEMS = 5
# Either case, and escaped as often as records quote each other.
MARKER = re.compile(rb'"__(?:SKILL_DONE|skill_done)__\\{0,7}"\s{0,64}:\s{0,64}true\b')
_NOWHERE = Span("stdout", 0, 0)  # nobody asks for the place of what is judged
PLACES = re.compile(MARKER.pattern + b"|" + done_signal.PREFIX)
_WORDS = (done_signal.PREFIX, b"__SKILL_DONE__", b"__skill_done__")  # one is in all that PLACES finds


class Evidence(msgspec.Struct):
    signal: DoneSignal | None = None  # the last valid one
    signals_differ: bool = False
    problems: list[str] = msgspec.field(default_factory=list)  # of signals that are not valid
    marker: bool = False
    meaning: Meaning | None = None  # of the last terminal signal

    @property
    def says_something(self) -> bool:
        return self.signal is not None or self.marker or bool(self.problems) or self.meaning is not None

    def add(self, later: Evidence) -> None:
        if later.signal is not None:
            self.take(later.signal)
        self.signals_differ |= later.signals_differ
        self.problems = [*self.problems, *later.problems][:MOST_PROBLEMS]
        self.marker |= later.marker
        self.meaning = later.meaning or self.meaning

    def take(self, signal: DoneSignal) -> None:
        self.signals_differ |= self.signal not in {None, signal}
        self.signal = signal


class Gathered(NamedTuple):
    """Of one log."""

    records: Evidence
    other_lines: Evidence
    has_records: bool  # such as the agent's parser understands
    lines_skipped: int


def gather(
    blocks: Iterable[bytes], signals: TerminalSignals, given: Iterable[str], parser: Parser
) -> Gathered:
    gathering = _Gathering(signals, tuple(given), parser)
    found: list[Document] = []
    if parser.is_document is not None:
        blocks, found = without_documents(blocks, parser.is_document)
    for line in log_lines(blocks, gathering.wanted):
        match line:
            case Passed(lines):
                gathering.trail.pass_by(lines)
            case BlockEnded():
                gathering.end_block()
            case LineSkipped():
                gathering.lines_skipped += 1
            case LogLine():
                gathering.take(line)
    for document in found:
        gathering.take_document(document.found)
    return gathering.finished()


class _Gathering:
    def __init__(self, signals: TerminalSignals, given: tuple[str, ...], parser: Parser) -> None:
        self._signals = signals
        self._signal_words = signals.words()
        self._parser = parser
        self._reader = parser.reader() if parser.reader else None
        self._seen = Evidence()
        self._doubtful = Evidence()  # in a block that may turn out to be a skill file
        self._records = Evidence()
        self._words_before = Trail(given)  # of the assistant's in records
        self._has_records = False
        self._number = 0
        self.trail = Trail(given)
        self.lines_skipped = 0

    def wanted(self) -> Wanted:
        words, speaks = self._signal_words, self._parser.speaks
        needs_records = self._reader is not None and not (self._has_records and speaks)
        escaped = (ESCAPED,) if self._reader is not None else ()
        return Wanted(
            (*_WORDS, *(words or ()), *(speaks or ()), *escaped), records=needs_records or words is None
        )

    def end_block(self) -> None:
        self._doubtful = Evidence()

    def take(self, line: LogLine) -> None:
        self._number = line.number
        found = record(line.record) if line.record else None
        meaning = self._meaning(line, found)
        if self._reader is not None and line.record and (found is None or "type" in found):
            if found is not None:  # one that cannot be read says nothing
                self._take_record(self._reader, found, meaning)
            self.trail.pass_by(line.text)
            return
        evidence = self._doubtful if line.in_block else self._seen
        evidence.meaning = meaning or evidence.meaning
        _look([line], evidence, self.trail)

    def take_document(self, found: Record) -> None:
        if self._reader is not None:
            self._take_record(self._reader, found, self._signals.meaning(b"", found))

    def finished(self) -> Gathered:
        if self._reader is not None:
            _look(_said(self._reader.finish(), self._number), self._records, self._words_before)
        self._seen.add(self._doubtful)
        return Gathered(self._records, self._seen, self._has_records, self.lines_skipped)

    def _meaning(self, line: LogLine, found: Record | None) -> Meaning | None:
        words, written = self._signal_words, line.record or line.text
        if words is not None and not any(word in written for word in words):
            return None
        return self._signals.meaning(line.text, found)

    def _take_record(self, reader: Reader, found: Record, meaning: Meaning | None) -> None:
        events = events_of_record(reader, found, _NOWHERE, meaning)
        self._has_records |= events is not None
        self._records.meaning = meaning or self._records.meaning
        _look(_said(events or (), self._number), self._records, self._words_before)


def _said(events: Iterable[Event], number: int) -> Iterator[LogLine | Passed]:
    for event in events:
        if isinstance(event, AssistantText):
            yield from lines_of_words(event.text.encode(), number, _WORDS)


def _look(lines: Iterable[LogLine | Passed], evidence: Evidence, trail: Trail) -> None:
    for line in lines:
        if isinstance(line, Passed):
            trail.pass_by(line.lines)
        else:
            _look_at(line, evidence, trail)
            trail.pass_by(line.text)


def _look_at(line: LogLine, evidence: Evidence, trail: Trail) -> None:
    if not evidence.marker:
        evidence.marker = any(
            not trail.was_given(line.text, marker.start()) for marker in MARKER.finditer(line.text)
        )
    if done_signal.PREFIX not in line.text:
        return
    for said in done_signal.done_signals(line.text):
        if trail.was_given(line.text, said.place):
            continue
        if said.signal is not None:
            evidence.take(said.signal)
        elif len(evidence.problems) < MOST_PROBLEMS:
            evidence.problems.append(f"line {line.number}: {said.problem}")
