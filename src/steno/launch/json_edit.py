"""Changes one value of a JSON text and leaves every other byte as it is.

In: the text of a settings file, the keys that lead to a value, and the value. Out: the text with that value;
the same text when it is there already. Comments and trailing commas, which some agents allow, are read past
and kept; a comment within a value that is replaced stands before the new one. A text that is not JSON, or
whose keys lead through something else than objects, is a ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Never

_BOM = "\ufeff"
# A string or a comment that does not end goes to the end of the text, so that none is looked for twice.
_STRING = r'"(?:[^"\\]++|\\.)*+"?+'
_COMMENT = r"//[^\n\r]*+|/\*(?:.*?\*/|.*+)"
_STRING_OR_COMMENT = re.compile(f"{_STRING}|{_COMMENT}", re.DOTALL)
_COMMENT_OR_COMMA = re.compile(f"{_COMMENT}|,", re.DOTALL)
_STRING_OR_COMMA = re.compile(rf"{_STRING}|[{{\[]\s*+,|,(?=\s*+[}}\]])", re.DOTALL)
_SHORTEST_BLOCK = len("/**/")
_BLANK = re.compile(r"[ \t\r\n]*+")
_NOT_BLANK = re.compile(r"[^\r\n]")
_UNIT = re.compile(r"\n([ \t]+)\S")


class Item(NamedTuple):
    """One member of an object (with its key) or one element of an array."""

    key: str | None
    start: int  # of the key, or of the element
    value: int
    end: int


def read(text: bytes) -> Any:
    """The value of the whole text; an empty text is an empty object."""
    return _Text(text).value


def get(text: bytes, keys: Sequence[str]) -> Any:
    """None when there is nothing."""
    found = read(text)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def set_value(text: bytes, keys: Sequence[str], value: Any) -> bytes:
    """Objects on the way are made where they are missing."""
    parsed = _Text(text)
    at = parsed.root
    for depth, key in enumerate(keys):
        if not parsed.is_at(at, "{"):
            raise ValueError(f"{_name(keys[:depth])} is not an object")
        item = next((item for item in reversed(list(parsed.items(at))) if item.key == key), None)
        if item is None:
            for missing in reversed(keys[depth + 1 :]):
                value = {missing: value}
            return parsed.inserted(at, f"{_dump(key)}: ", value)
        at, end = item.value, item.end
    return text if _same(parsed.at(at), value) else parsed.replaced(at, end, value)


def append(text: bytes, keys: Sequence[str], value: Any) -> bytes:
    """One more element for the list at `keys`, unless it is in there."""
    found = get(text, keys)
    if found is None:
        return set_value(text, keys, [value])
    if not isinstance(found, list):
        raise ValueError(f"{_name(keys)} is not a list")  # noqa: TRY004 - the text is wrong, not the program
    if any(_same(old, value) for old in found):
        return text
    parsed = _Text(text)
    at = parsed.root
    for key in keys:
        at = next(item.value for item in reversed(list(parsed.items(at))) if item.key == key)
    return parsed.inserted(at, "", value)


class _Text:
    def __init__(self, text: bytes) -> None:
        try:
            whole = text.decode()
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8") from None
        self._start = _BOM if whole.startswith(_BOM) else ""
        self._text = whole.removeprefix(_BOM)
        if not self._text.strip():
            self._text = "{}\n"
        self._plain = _blanked(self._text)  # the same places, without what JSON does not have
        self._decode = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode
        try:
            self.value = json.loads(self._plain, parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("it is nested beyond measure") from None
        self.root = self._skip(0)
        self._newline = "\r\n" if "\r\n" in self._text else "\n"
        unit = _UNIT.search(self._plain)
        self._unit = unit[1] if unit else "  "

    def is_at(self, at: int, opening: str) -> bool:
        return self._plain[at] == opening

    def at(self, at: int) -> Any:
        return self._decode(self._plain, at)[0]

    def items(self, at: int) -> Iterator[Item]:
        """What is in the object or the list that begins at `at`."""
        named = self.is_at(at, "{")
        at = self._skip(at + 1)
        while self._plain[at] not in "}]":
            start, key = at, None
            if named:
                key, at = self._decode(self._plain, at)
                at = self._skip(self._skip(at) + 1)
            _, end = self._decode(self._plain, at)
            yield Item(key, start, at, end)
            at = self._skip(end)
            if self._plain[at] == ",":
                at = self._skip(at + 1)

    def replaced(self, start: int, end: int, value: Any) -> bytes:
        """Comments that stood within the old value stand before the new one."""
        indent = self._indent_of_line(start)
        kept = [self._with_end(comment, indent) for comment in _comments(self._text[start:end])]
        return self._joined(self._text[:start], *kept, self._dumped(value, indent), self._text[end:])

    def inserted(self, at: int, name: str, value: Any) -> bytes:
        """As the last one; behind the comments of the one before."""
        items = list(self.items(at))
        last = items[-1].end if items else at + 1
        close = self._skip(last)
        behind = self._text[last:close]  # comments, blanks, a trailing comma
        comma = "" if not items or self._has_trailing_comma(last, close) else ","
        kept = behind.rstrip(" \t\r\n")
        indent = self._indent_below(at, items, kept)
        if indent is None:
            between, ending = (" " if items else ""), behind[len(kept) :]
            shown = json.dumps(value, ensure_ascii=False)
        else:
            between = self._newline + indent
            shown = self._dumped(value, indent)
            broken = "\n" in behind[len(kept) :]
            ending = behind[len(kept) :] if broken else self._newline + self._indent_of_line(at)
        before = self._text[:last] + comma + kept
        return self._joined(before, between + name + shown, ending + self._text[close:])

    def _indent_below(self, at: int, items: list[Item], kept: str) -> str | None:
        """None: everything is on one line, and stays so."""
        if items:
            line = self._text.rfind("\n", at, items[-1].start)
            if line >= 0:
                indent = self._text[line + 1 : items[-1].start]
                return indent if not indent.strip() else self._indent_of_line(at) + self._unit
            if "//" not in kept and "\n" not in self._text[at : self._skip(items[-1].end)]:
                return None
        return self._indent_of_line(at) + self._unit

    def _indent_of_line(self, at: int) -> str:
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _with_end(self, comment: str, indent: str) -> str:
        return f"{comment} " if comment.startswith("/*") else f"{comment}{self._newline}{indent}"

    def _dumped(self, value: Any, indent: str) -> str:
        shown = json.dumps(value, ensure_ascii=False, indent=self._unit)
        return shown.replace("\n", self._newline + indent)

    def _has_trailing_comma(self, start: int, end: int) -> bool:
        return any(match[0] == "," for match in _COMMENT_OR_COMMA.finditer(self._text, start, end))

    def _skip(self, at: int) -> int:
        blank = _BLANK.match(self._plain, at)
        return blank.end() if blank else at

    def _joined(self, *parts: str) -> bytes:
        return (self._start + "".join(parts)).encode()


def _comments(text: str) -> list[str]:
    return [found for found in _STRING_OR_COMMENT.findall(text) if not found.startswith('"')]


def _blanked(text: str) -> str:
    return _STRING_OR_COMMA.sub(_without_comma, _STRING_OR_COMMENT.sub(_without_comment, text))


def _without_comment(match: re.Match[str]) -> str:
    found = match[0]
    ends = not found.startswith("/*") or (found.endswith("*/") and len(found) >= _SHORTEST_BLOCK)
    return _NOT_BLANK.sub(" ", found) if found.startswith("/") and ends else found


def _without_comma(match: re.Match[str]) -> str:
    # Behind an opening bracket it is none that trails: it stays, and is an error.
    return " " if match[0] == "," else match[0]


def _same(one: Any, other: Any) -> bool:
    """As JSON: `true` is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _name(keys: Sequence[str]) -> str:
    return ".".join(keys) or "what it holds"


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")
