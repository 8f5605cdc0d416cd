"""Telling what an agent says from what it was given and only shows again.

In: the texts an agent was given (skill files, the prompt, what was typed), and places in its log. Out:
whether what stands at a place was given. A skill file explains how to say "done", with an example; the
example must not count when the file is printed, quoted in JSON, numbered or wrapped to a width. So a place
is known by the letters before it alone: they are all that has to be kept of a text. Never looks at what
stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from steno.agents.log_text import texts_of, without_codes
from steno.redact.engine import PLACEHOLDER

LETTERS = 32  # before a place, compared
FEWEST = 8  # a text that has fewer before the place says too little to be known again
_WINDOW = 2048  # bytes before a place that are looked at, when the nearest have too few letters
_NEAR = 256
_MOST_HELD = 1 << 16
_COST = 64  # of a line that is held, besides its bytes
_ESCAPED_BLANK = re.compile(r"\\[nrt]")
_ESCAPED_CHARACTER = re.compile(r"\\u([0-9a-fA-F]{4})")
_MASKED = re.compile(re.escape(PLACEHOLDER) + r"[a-z0-9-]+:\d+\]")  # a log has no letters there
_WORDS = re.compile(r"[^\W\d_]+")


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


class Trail:
    """Follows one log; knows the letters before every place of the line that comes next."""

    def __init__(self, given: Iterable[str]) -> None:
        self._endings = tuple(given)
        self._letters = ""
        self._passed: list[bytes] = []  # lines whose letters nobody has asked for yet
        self._held = 0

    def was_given(self, line: bytes, place: int) -> bool:
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
    return "".join(_WORDS.findall(shown))
