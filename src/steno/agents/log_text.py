"""The lines of a log as a reader sees them: without the codes of a terminal and without echoed skill files.

In: the bytes of a log, in blocks, and what is looked for. Out: the lines that can matter, with their numbers,
and all others as they pass by, many at once. A block `<skill_content …> … </skill_content>` is how agents
show a skill that they load: within a line it is cut out; over several lines its lines are marked, and a
`BlockEnded` tells that they were indeed echoed. Of one that never ends nothing is taken away. What is held is
one line, or the lines of one block. Never decodes text, and the work is linear in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from steno.agents import done_signal

MAX_LINE = 8 << 20
_MOST_AT_ONCE = 1 << 20


class LogLine(NamedTuple):
    number: int
    text: bytes
    record: bytes  # the whole line, as JSON must have it; empty when it cannot be an object
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
    rb"\x1b\[[\d;]*+[ABE-Hdf`](?=(?:\x1b\[[\d;]*+[mKC]|[^\w\x1b\n]){0,256}+" + done_signal.PREFIX + rb")"
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
