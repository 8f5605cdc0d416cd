"""What one log says about the end of an attempt.

In: the bytes of a log, the terminal signals that may be in it, a reader of the agent's records if it writes
any, and what is known of the words that the agent was given. Out: the last done signal, whether there is a
marker, the last terminal signal, and what was wrong; apart for the agent's records and for all other lines,
since a stream of records has no words of the agent's between them. Of a record only what the assistant says
in it counts: what a tool printed is not the agent's word. Holds few lines and these few facts, however long
the log is. Never decides anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Annotated, Literal, NamedTuple

import msgspec

from steno.agents.definition import ESCAPED, Meaning, TerminalSignals
from steno.agents.events import AssistantText, Event, Span
from steno.agents.json_lines import Document, JsonObject, record, without_documents
from steno.agents.stream import Parser, Reader, events_of_record
from steno.redact.redactor import PLACEHOLDER

PREFIX = b"AGENT_ENV_DONE"
MOST_BYTES = 64 << 10
State = Literal["completed", "awaiting_user_input", "interrupted", "unknown"]

_MOST_BEFORE = 1024  # bytes of blanks, bullets and frames before it
_PLACE = re.compile(PREFIX + rb"[ \t]+")
_OPENING = re.compile(rb"\{\s{0,9}(\\*)\"")
_STRING_BODY = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_LINE_IN_STRING = re.compile(rb'\\+[nr]|[:,\[{]\s{0,9}\\*"')  # where a line begins in the strings of a record
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[tfb])")
_LEVELS = {0: 0, 1: 1, 3: 2, 7: 3}  # backslashes before a quote -> how often it was escaped


class DoneSignal(msgspec.Struct, frozen=True):
    version: Literal["1"]
    state: State
    skill: Annotated[str, msgspec.Meta(pattern=r"\S")]
    result_kind: Literal["json_object", "text", "none"]
    needs_user_input: bool
    reason_code: Annotated[str, msgspec.Meta(pattern=r"^[A-Z][A-Z0-9_]*\Z")]


class Said(NamedTuple):
    place: int
    signal: DoneSignal | None
    problem: str  # empty when there is a signal


_decode = msgspec.json.Decoder(DoneSignal).decode


def done_signals(line: bytes) -> Iterator[Said]:
    is_record = line.lstrip().startswith(b"{")
    places = [place for place in _PLACE.finditer(line) if _begins_its_line(line, place.start(), is_record)]
    for place, following in zip_longest(places, places[1:]):
        end = min(following.start() if following else len(line), place.end() + MOST_BYTES)
        yield _said_state(place.start(), line[place.end() : end])


def _begins_its_line(line: bytes, place: int, is_record: bool) -> bool:
    """No letter and no digit stands before it."""
    before = line[max(0, place - _MOST_BEFORE) : place]
    if is_record:
        starts = [start.end() for start in _LINE_IN_STRING.finditer(before)]
        if not starts:
            return False
        before = before[starts[-1] :]
    elif place > _MOST_BEFORE:
        return False
    shown = _ESCAPE.sub(
        lambda escape: chr(int(escape[1], 16)) if escape[1] else " ", before.decode("utf-8", "ignore")
    )
    return not any(map(str.isalnum, shown))


def _said_state(place: int, text: bytes) -> Said:
    try:
        return Said(place, _decode(_payload(text)), "")
    except msgspec.ValidationError as error:
        return Said(place, None, str(error))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return Said(place, None, "what follows is not a JSON object")


def _payload(text: bytes) -> bytes:
    opening = _OPENING.match(text)
    levels = _LEVELS.get(len(opening[1]) if opening else 0)
    if levels is None:
        raise ValueError
    for _ in range(levels):
        body = _STRING_BODY.match(text)
        text = json.loads(b'"%s"' % (body[0] if body else b""), strict=False).encode()
    return text.partition(b"\n")[0].strip() if levels else text.strip()


MAX_LINE = 8 << 20
_MOST_AT_ONCE = 1 << 20


class LogLine(NamedTuple):
    number: int
    text: bytes
    json: bytes  # the whole line, as JSON must have it; empty when it cannot be an object
    in_block: bool


class BlockEnded(NamedTuple):
    """The lines that were marked since the block began are a skill file."""


class LineSkipped(NamedTuple):
    """It is too long."""


class Passed(NamedTuple):
    """Whole lines in which there is nothing that is looked for."""

    lines: bytes


class Wanted(NamedTuple):
    """What makes a line worth looking at: one of these words, or that it may be a record."""

    words: tuple[bytes, ...]
    records: bool


_STRINGS_TO_A_TERMINAL = rb"\x1b[\]PX^_][^\x07\x1b\n]*+(?:\x07|\x1b\\)"
_FORWARD = re.compile(rb"\x1b\[\d*+C")  # how some programs write a space
# A program that draws its screen moves to the line of a signal instead of ending the line before.
_MOVED_TO_SIGNAL = re.compile(
    rb"\x1b\[[\d;]*+[ABE-Hdf`](?=(?:\x1b\[[\d;]*+[mKC]|[^\w\x1b\n]){0,256}+" + PREFIX + rb")"
)
_CODES = re.compile(rb"\x1b\[[0-?]*+[ -/]*+[@-~]|" + _STRINGS_TO_A_TERMINAL + rb"|\x1b[ -/]*+[0-~]")
_CODES_IN_JSON = re.compile(rb"\\(?:u001[bB]|x1[bB]|033)\[[0-?]*+[ -/]*+[@-~]")
_BEGINNINGS_OF_CODES_IN_JSON = (rb"\u001b", rb"\u001B", rb"\x1b", rb"\x1B", rb"\033")
_UNSEEN = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\r\n")
_ENDS = re.compile(rb"[\r\n]+")
_RECORD = re.compile(rb"\n[ \t\r]*+\{")
_BLOCK = b"skill_content"
_TAG = re.compile(
    rb"(?:<|\\u003[cC])(?P<end>\\?/)?skill_content(?![\w-])(?(end)(?:\s{0,9}(?:>|\\u003[eE]))?|)"
)


def without_codes(text: bytes) -> bytes:
    """Lines stay lines."""
    if b"\x1b" in text:
        text = _CODES.sub(b"", _FORWARD.sub(b" ", _MOVED_TO_SIGNAL.sub(b"\r", text)))
    return text.translate(None, _UNSEEN)


def log_lines(
    blocks: Iterable[bytes], wanted: Callable[[], Wanted]
) -> Iterator[LogLine | BlockEnded | LineSkipped | Passed]:
    """What is wanted is asked again from time to time."""
    reader, number = _Reader(), 1
    for lines in _whole_lines(blocks):
        if lines is None:
            yield LineSkipped()
            number += 1
            continue
        text = without_codes(lines)
        seen = 0
        for begin, end in _places(text, wanted()):
            if begin > seen:
                yield Passed(text[seen:begin])
            number += text.count(b"\n", seen, begin)
            yield from reader.read(number, text[begin:end])
            number += 1
            seen = end + 1
        if seen < len(text):
            yield Passed(text[seen:])
            number += text.count(b"\n", seen)


def texts_of(line: bytes) -> list[bytes]:
    """What a line shows one after the other: a record as a whole, else what stands between returns."""
    record = line.strip()
    return [record] if _may_be_record(record) else [part for part in line.split(b"\r") if part]


def lines_of_words(said: bytes, number: int, words: Iterable[bytes]) -> Iterator[LogLine | Passed]:
    """What somebody says in the record of one line, as the lines that it is meant to be."""
    text = without_codes(_without_blocks(said))
    if not any(word in text for word in words):
        yield Passed(text)
        return
    for part in _ENDS.split(text):
        if part:
            yield LogLine(number, part, b"", in_block=False)


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes | None]:
    """Many lines at a time, the last one maybe without its end; None for one that is too long."""
    held: list[bytes] = []  # of one line
    size = 0
    for block in _pieces(blocks):
        begin, end = block.find(b"\n") + 1, block.rfind(b"\n") + 1
        size += begin or len(block)
        if size > MAX_LINE:
            held.clear()
        if not begin:
            if size <= MAX_LINE:
                held.append(block)
            continue
        if size > MAX_LINE:
            yield None
        lines = block[begin:end] if size > MAX_LINE else b"".join((*held, block[:end]))
        if lines:
            yield lines
        held, size = [block[end:]], len(block) - end
    if size:
        yield None if size > MAX_LINE else b"".join(held)


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """None so long that more than its first line could be too long."""
    most = min(MAX_LINE, _MOST_AT_ONCE)
    for block in blocks:
        for start in range(0, len(block), most):
            yield block[start : start + most]


def _places(text: bytes, wanted: Wanted) -> list[tuple[int, int]]:
    """Where the lines begin and end that have one of the words, or may be records."""
    found: dict[int, int] = {}
    for word in (*wanted.words, _BLOCK, *_BEGINNINGS_OF_CODES_IN_JSON):
        at = text.find(word)
        while at >= 0:
            begin, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
            found[begin] = end = len(text) if end < 0 else end
            at = text.find(word, end)
    if wanted.records:
        first = [0] if text.lstrip(b" \t\r").startswith(b"{") else []
        for begin in (*first, *(match.start() + 1 for match in _RECORD.finditer(text))):
            end = text.find(b"\n", begin)
            found[begin] = len(text) if end < 0 else end
    return sorted(found.items())


def _may_be_record(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}")


class _Reader:
    def __init__(self) -> None:
        self._in_block = False

    def read(self, number: int, line: bytes) -> Iterator[LogLine | BlockEnded]:
        record = line.strip()
        if _may_be_record(record):
            # What a record quotes ends with it, even when the agent cut it off before its end.
            yield LogLine(number, _without_blocks(_readable(record)), record, self._in_block)
            return
        for part in line.split(b"\r") if record else ():
            if part and _BLOCK not in part:
                yield LogLine(number, _readable(part), b"", self._in_block)
            elif part:
                yield from self._part(number, _readable(part))

    def _part(self, number: int, text: bytes) -> Iterator[LogLine | BlockEnded]:
        if not self._in_block:
            text = _without_blocks(text)
        tag = _tag(text, ends=self._in_block)
        while tag is not None:
            if before := text[: tag.start()]:
                yield LogLine(number, before, b"", self._in_block)
            if self._in_block:
                yield BlockEnded()
            self._in_block = not self._in_block
            text = text[tag.end() :] if self._in_block else _without_blocks(text[tag.end() :])
            tag = _tag(text, ends=self._in_block)
        if text:
            yield LogLine(number, text, b"", self._in_block)


def _readable(text: bytes) -> bytes:
    return _CODES_IN_JSON.sub(b"", text) if b"\\" in text else text


def _tag(text: bytes, *, ends: bool) -> re.Match[bytes] | None:
    return next((tag for tag in _TAG.finditer(text) if bool(tag["end"]) == ends), None)


def _without_blocks(text: bytes) -> bytes:
    """Blocks that begin and end here are cut out."""
    if _BLOCK not in text:
        return text
    kept: list[bytes] = []
    done = 0
    begin: int | None = None
    for tag in _TAG.finditer(text):
        if begin is None and not tag["end"]:
            begin = tag.start()
        elif begin is not None and tag["end"]:
            kept.append(text[done:begin])
            done, begin = tag.end(), None
    return b"".join((*kept, text[done:]))


LETTERS = 32  # before a place, compared
FEWEST = 8  # a text that has fewer before the place says too little to be known again
_WINDOW = 2048  # bytes before a place that are looked at, when the nearest have too few letters
_NEAR = 256
_MOST_HELD = 1 << 16
_COST = 64  # of a line that is held, besides its bytes
_ESCAPED_BLANK = re.compile(r"\\[nrt]")
_ESCAPED_CHARACTER = re.compile(r"\\u([0-9a-fA-F]{4})")
_MASKED = re.compile(re.escape(PLACEHOLDER) + r"[a-z0-9-]+:\d+\]")  # a log has no letters there
_LETTERS = re.compile(r"[^\W\d_]+")


def words_of_command(arguments: Iterable[str]) -> list[bytes]:
    """The texts in the masked arguments of an agent; one is the prompt, maybe as `--prompt=TEXT`."""
    texts = [word.partition("=")[2] if word.startswith("--") else word for word in arguments]
    return [_MASKED.sub("", text).encode("utf-8", "surrogateescape") for text in texts]


def endings(texts: Iterable[bytes], places: re.Pattern[bytes]) -> set[str]:
    """The letters before every place in these texts, where they are enough to be known again."""
    found = {
        _letters_before(text, place.start())
        for text in map(without_codes, texts)
        for place in places.finditer(text)
    }
    return {letters for letters in found if len(letters) >= FEWEST}


class EchoFilter:
    """Follows one log; knows the letters before every place of the line that comes next."""

    def __init__(self, given: Iterable[str]) -> None:
        self._endings = tuple(given)
        self._letters = ""
        self._passed: list[bytes] = []  # lines whose letters nobody has asked for yet
        self._held = 0

    def is_echo(self, line: bytes, place: int) -> bool:
        if not self._endings:
            return False
        letters = _letters_before(line, place)
        if place <= _WINDOW:
            letters = self._before() + letters
        return letters.endswith(self._endings)

    def pass_by(self, lines: bytes) -> None:
        if not self._endings:
            return
        self._passed.append(lines)
        self._held += len(lines) + _COST
        if self._held > _MOST_HELD:
            self._before()

    def _before(self) -> str:
        letters = ""
        for text in _backwards(self._passed):
            letters = _letters_before(text, len(text)) + letters
            if len(letters) >= LETTERS:
                break
        self._letters = (self._letters + letters)[-LETTERS:]
        self._passed.clear()
        self._held = 0
        return self._letters


def _backwards(passed: list[bytes]) -> Iterator[bytes]:
    for lines in reversed(passed):
        end = len(lines)
        while end > 0:
            begin = lines.rfind(b"\n", 0, end) + 1
            yield from reversed(texts_of(lines[begin:end]))
            end = begin - 1


def _letters_before(text: bytes, place: int) -> str:
    letters = _letters(text[max(0, place - _NEAR) : place])
    if len(letters) < LETTERS and place > _NEAR:
        letters = _letters(text[max(0, place - _WINDOW) : place])
    return letters[-LETTERS:]


def _letters(text: bytes) -> str:
    shown = text.decode("utf-8", "ignore")
    if "\\" in shown:
        shown = _ESCAPED_CHARACTER.sub(lambda escape: chr(int(escape[1], 16)), _ESCAPED_BLANK.sub(" ", shown))
    return "".join(_LETTERS.findall(shown))


MOST_PROBLEMS = 5
# Either case, and escaped as often as records quote each other.
MARKER = re.compile(rb'"__(?:SKILL_DONE|skill_done)__\\{0,7}"\s{0,64}:\s{0,64}true\b')
_NOWHERE = Span("stdout", 0, 0)  # nobody asks for the place of what is judged
PLACES = re.compile(MARKER.pattern + b"|" + PREFIX)
_WORDS = (PREFIX, b"__SKILL_DONE__", b"__skill_done__")  # one is in all that PLACES finds


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


class LogFindings(NamedTuple):
    """Of one log."""

    records: Evidence
    other_lines: Evidence
    has_records: bool  # such as the agent's parser understands
    lines_skipped: int


def gather(
    blocks: Iterable[bytes], signals: TerminalSignals, given: Iterable[str], parser: Parser
) -> LogFindings:
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
        self._words_before = EchoFilter(given)  # of the assistant's in records
        self._has_records = False
        self._number = 0
        self.trail = EchoFilter(given)
        self.lines_skipped = 0

    def wanted(self) -> Wanted:
        words, markers = self._signal_words, self._parser.text_markers
        needs_records = self._reader is not None and not (self._has_records and markers)
        escaped = (ESCAPED,) if self._reader is not None else ()
        return Wanted(
            (*_WORDS, *(words or ()), *(markers or ()), *escaped), records=needs_records or words is None
        )

    def end_block(self) -> None:
        self._doubtful = Evidence()

    def take(self, line: LogLine) -> None:
        self._number = line.number
        found = record(line.json) if line.json else None
        meaning = self._meaning(line, found)
        if self._reader is not None and line.json and (found is None or "type" in found):
            if found is not None:  # one that cannot be read says nothing
                self._take_record(self._reader, found, meaning)
            self.trail.pass_by(line.text)
            return
        evidence = self._doubtful if line.in_block else self._seen
        evidence.meaning = meaning or evidence.meaning
        _look([line], evidence, self.trail)

    def take_document(self, found: JsonObject) -> None:
        if self._reader is not None:
            self._take_record(self._reader, found, self._signals.meaning(b"", found))

    def finished(self) -> LogFindings:
        if self._reader is not None:
            _look(_said(self._reader.finish(), self._number), self._records, self._words_before)
        self._seen.add(self._doubtful)
        return LogFindings(self._records, self._seen, self._has_records, self.lines_skipped)

    def _meaning(self, line: LogLine, found: JsonObject | None) -> Meaning | None:
        words, written = self._signal_words, line.json or line.text
        if words is not None and not any(word in written for word in words):
            return None
        return self._signals.meaning(line.text, found)

    def _take_record(self, reader: Reader, found: JsonObject, meaning: Meaning | None) -> None:
        events = events_of_record(reader, found, _NOWHERE, meaning)
        self._has_records |= events is not None
        self._records.meaning = meaning or self._records.meaning
        _look(_said(events or (), self._number), self._records, self._words_before)


def _said(events: Iterable[Event], number: int) -> Iterator[LogLine | Passed]:
    for event in events:
        if isinstance(event, AssistantText):
            yield from lines_of_words(event.text.encode(), number, _WORDS)


def _look(lines: Iterable[LogLine | Passed], evidence: Evidence, trail: EchoFilter) -> None:
    for line in lines:
        if isinstance(line, Passed):
            trail.pass_by(line.lines)
        else:
            _look_at(line, evidence, trail)
            trail.pass_by(line.text)


def _look_at(line: LogLine, evidence: Evidence, trail: EchoFilter) -> None:
    if not evidence.marker:
        evidence.marker = any(
            not trail.is_echo(line.text, marker.start()) for marker in MARKER.finditer(line.text)
        )
    if PREFIX not in line.text:
        return
    for said in done_signals(line.text):
        if trail.is_echo(line.text, said.place):
            continue
        if said.signal is not None:
            evidence.take(said.signal)
        elif len(evidence.problems) < MOST_PROBLEMS:
            evidence.problems.append(f"line {line.number}: {said.problem}")
