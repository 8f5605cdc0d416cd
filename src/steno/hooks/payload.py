"""What a hook was given, made small enough to be told.

Of a value that is too large the longest texts go first, each for an object `{"steno_cut": its length}`; names
of files, commands and how a tool ended go last, because the rules that compare what was said with what was
done need them. Of a text that says an exit code on its first line, or near its end, that line is kept. A text
within a value is never cut in two: half a secret would not be known as one.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

from steno.evidence.intake_names import MAX_PAYLOAD_TOLD, MAX_TOLD, NOT_UNDERSTOOD

MAX_DEPTH = 32  # deeper data is cut: who reads it has a limit too
_KEPT_LONGEST = frozenset(
    {
        *("file_path", "filePath", "path", "notebook_path", "command", "cmd", "cwd"),
        *("exit_code", "exitCode", "is_error", "isError", "error"),
    }
)
MAX_PAYLOAD = 16 << 20
TOO_LARGE = "payload_too_large"
NOT_JSON = "payload_not_json"
# The reader measures in its own way of writing, where a number may be a little longer.
_ROOM = MAX_TOLD - MAX_TOLD // 16
_CUT = "steno_cut"
_MOST_PARTS = 1024
_EXIT_CODE = re.compile(r"(?:exit code|process exited with code):? -?\d{1,10}", re.IGNORECASE)
_LINES_AT_THE_END = 5
_LEAST = 96  # the object in the place of a text is never longer


class NotUnderstoodError(ValueError):
    """What came is no payload of a hook; the message is the fixed word that says why."""


class Shrunk(NamedTuple):
    value: Any
    cut: bool


class _Piece(NamedTuple):
    """A value inside another: where it hangs, and how long it is when it is written."""

    holder: dict[str, Any] | list[Any]
    key: Any
    size: int


def read(payload: bytes) -> Shrunk:
    """What a hook was given, each of its fields small enough to be told."""
    if len(payload) > MAX_PAYLOAD:
        raise NotUnderstoodError(TOO_LARGE)
    try:
        data = json.loads(payload, parse_constant=_refuse)
        if not isinstance(data, dict):
            raise NotUnderstoodError(NOT_UNDERSTOOD)  # noqa: TRY301 - one place for what is no payload
        cut = False
        for name, value in data.items():
            data[name], was_cut = (shrink_text if isinstance(value, str) else shrink)(value, _ROOM)
            cut = cut or was_cut
        value, was_cut = shrink(data, MAX_PAYLOAD_TOLD - _ROOM)
    except NotUnderstoodError:
        raise
    except ValueError:
        raise NotUnderstoodError(NOT_JSON) from None
    except RecursionError:
        raise NotUnderstoodError(NOT_UNDERSTOOD) from None
    return Shrunk(value, cut or was_cut)


def _refuse(_: str) -> NoReturn:
    raise NotUnderstoodError(NOT_JSON)


def encoded(value: Any) -> bytes:
    """As it will be written. Half a surrogate pair cannot be; it becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def shrink(value: Any, most: int) -> Shrunk:
    """The value itself may be changed on the way."""
    holder = [value]
    cut = _cut_depth(holder, 0)
    for pieces_of in (_texts, _parts, _whole):
        excess = len(encoded(holder[0])) - most
        for piece in pieces_of(holder) if excess > 0 else ():
            _replace(piece)
            cut, excess = True, excess - piece.size
            if excess <= 0:
                break
    return Shrunk(holder[0], cut)


def shrink_text(text: str, most: int) -> Shrunk:
    """A text stays a text: its beginning, up to the end of a line or a word."""
    if len(encoded(text)) <= most:
        return Shrunk(text, cut=False)
    kept = text[:most]
    while len(encoded(kept)) > most:
        kept = kept[: len(kept) * 3 // 4]
    border = max(kept.rfind("\n"), kept.rfind(" "))
    return Shrunk(kept[: max(border, 0)], cut=True)


def _cut_depth(holder: Any, depth: int) -> bool:
    cut = False
    for key, value in _children(holder):
        if not isinstance(value, dict | list):
            continue
        if depth == MAX_DEPTH:
            _replace(_Piece(holder, key, 0))
            cut = True
        elif _cut_depth(value, depth + 1):
            cut = True
    return cut


def _children(holder: Any) -> list[tuple[Any, Any]]:
    return list(holder.items() if isinstance(holder, dict) else enumerate(holder))


def _texts(holder: list[Any]) -> list[_Piece]:
    """The texts worth cutting, longest first; what rules read comes last."""
    found: list[_Piece] = []
    waiting: list[Any] = [holder]
    while waiting:
        each = waiting.pop()
        for key, value in _children(each):
            if isinstance(value, dict | list):
                waiting.append(value)
            elif isinstance(value, str) and len(value) >= _LEAST:
                found.append(_Piece(each, key, len(encoded(value)) - _LEAST))
    return sorted(found, key=_order)


def _parts(holder: list[Any]) -> list[_Piece]:
    """The values of an object, or of a list, largest first: for what is large without a long text."""
    value = holder[0]
    if not isinstance(value, dict | list) or len(value) > _MOST_PARTS:
        return []
    return sorted((_Piece(value, key, len(encoded(each))) for key, each in _children(value)), key=_order)


def _whole(holder: list[Any]) -> list[_Piece]:
    return [_Piece(holder, 0, 0)]


def _order(piece: _Piece) -> tuple[bool, int]:
    return piece.key in _KEPT_LONGEST, -piece.size


def _replace(piece: _Piece) -> None:
    value = piece.holder[piece.key]
    piece.holder[piece.key] = _cut_text(value) if isinstance(value, str) else {_CUT: _size(value)}


def _size(value: Any) -> int | None:
    """None: it is too deep to be measured."""
    try:
        return len(encoded(value))
    except RecursionError:
        return None


def _cut_text(text: str) -> dict[str, Any]:
    said: dict[str, Any] = {_CUT: len(text)}
    first, *_ = text.split("\n", 1)
    if _EXIT_CODE.fullmatch(first):
        said["first"] = first
    last = [line for line in text.rsplit("\n", _LINES_AT_THE_END)[1:] if _EXIT_CODE.fullmatch(line)]
    if last:
        said["last"] = last[-1]
    return said
