"""The done signal: one line in which an agent says how its task ended.

In: a line of a log. Out: for every `AGENT_ENV_DONE {json}` that is a line of its own where it stands, and the
signal or what is wrong with it. A signal inside of a JSON record is a line of a string there, escaped once or
more; it is read as what it stands for. The word in a sentence is no signal, and nothing is wrong with it.
Never fails on a line, and the work is linear in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Annotated, Literal, NamedTuple

import msgspec

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
        yield _said(place.start(), line[place.end() : end])


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


def _said(place: int, text: bytes) -> Said:
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
