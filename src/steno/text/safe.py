"""Text from a record, made safe to print: what cannot be seen is spelled out, on one line, never dropped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

ELLIPSIS = "…"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Cc: C0, DEL and C1; Cf: bidi overrides, zero-width marks, tags; Cs: lone surrogates; Zl, Zp: line breaks.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_WIDE = frozenset({"W", "F"})


def visible(text: str) -> str:
    """The text with everything that is not seen, or that a terminal would act on, spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_spelled, text))


def visible_json(text: str) -> str:
    """The same JSON, with what a terminal would act on written as JSON's own escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_seen(character) else _json_escape(character) for character in text)


def relative_to_cwd(text: str, cwd: str) -> str:
    """The text, with the names of files below this directory told without it."""
    below = re.escape(cwd.rstrip("/"))
    return re.sub(rf"(?<![^\s\"'`(=,:]){below}/(?=[^\s/])", "", text) if below else text


def utf8(value: Any) -> Any:
    """The same data, with the bytes of names that are not UTF-8 spelled out, as JSON must have it."""
    match value:
        case str():
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        case dict():
            return {utf8(key): utf8(item) for key, item in value.items()}
        case list() | tuple():
            return [utf8(item) for item in value]
        case _:
            return value


def cut(text: str, width: int) -> str:
    """At most `width` columns of a terminal; what is cut off shows as an ellipsis."""
    if columns(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += _columns_of(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + ELLIPSIS if width > 0 else ""


def columns(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def pad(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def listed(words: Iterable[str], limit: int) -> str:
    """`a, b, c and 4 more`: every word made visible."""
    found = list(words)
    shown = ", ".join(visible(word) for word in found[:limit])
    more = len(found) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def _spelled(character: str) -> str:
    if _is_seen(character):
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 - two hexadecimal digits
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
