"""Names as git writes them: quoted in C style, escaped in ignore files, listed in a status."""

from __future__ import annotations

import re
from typing import NamedTuple

_NEEDS_QUOTES = re.compile(rb'[\x00-\x1f\x7f-\xff"\\]')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
_TO_LETTER = {value: key for key, value in _LETTERS.items()}
_STATUS_PATHS = re.compile(rb'("(?:[^"\\]|\\.)*"|[^"].*?)(?: -> ("(?:[^"\\]|\\.)*"|[^"].*))?\Z', re.DOTALL)
_IGNORE_SPECIAL = re.compile(rb"([\\*?\[\] !#])")
_CODE_WIDTH = 3


class StatusLine(NamedTuple):
    code: bytes
    paths: tuple[bytes, ...]
    text: bytes


def quote(name: bytes, *, always: bool = False) -> bytes:
    if not always and not _NEEDS_QUOTES.search(name):
        return name
    return b'"' + _NEEDS_QUOTES.sub(_quoted_byte, name) + b'"'


def _quoted_byte(match: re.Match[bytes]) -> bytes:
    byte = match.group()
    letter = _TO_LETTER.get(byte, byte if byte in b'"\\' else None)
    return b"\\" + (letter if letter is not None else b"%03o" % byte[0])


def unquote(text: bytes) -> bytes:
    if not text.startswith(b'"'):
        return text
    return _ESCAPE.sub(_unquoted_byte, text[1:-1])


def _unquoted_byte(match: re.Match[bytes]) -> bytes:
    escape = match.group(1)
    if escape.isdigit():
        return bytes([int(escape, 8) & 0xFF])
    return _LETTERS.get(escape, escape)


def status_lines(status: bytes) -> list[StatusLine]:
    """Parse `git status --porcelain`; a name with a blank is quoted there, so ` -> ` is not ambiguous."""
    lines = []
    for text in status.split(b"\n"):
        match = _STATUS_PATHS.match(text[_CODE_WIDTH:])
        if match is not None:
            paths = tuple(unquote(path) for path in match.groups() if path is not None)
            lines.append(StatusLine(text[:2], paths, text))
    return lines


def join_status(lines: list[StatusLine]) -> bytes:
    return b"".join(line.text + b"\n" for line in lines)


def with_dirty(lines: list[StatusLine], dirty: list[bytes]) -> list[StatusLine]:
    """Add a line for each nested repository that is dirty and not listed yet, where git would put it."""
    listed = {path for line in lines for path in line.paths}
    extra = [
        StatusLine(b" M", (path,), b" M " + quote(path, always=b" " in path))
        for path in dirty
        if path not in listed
    ]
    tracked = [line for line in lines if line.code != b"??"]
    untracked = [line for line in lines if line.code == b"??"]
    return sorted([*tracked, *extra], key=lambda line: line.paths[-1]) + untracked


def summarise(lines: list[StatusLine]) -> dict[str, int]:
    """Count each line once; `changed_files` is the number of lines."""
    summary = dict.fromkeys(("changed_files", "added", "modified", "deleted", "renamed", "untracked"), 0)
    for line in lines:
        summary["changed_files"] += 1
        summary[_kind(line.code)] += 1
    return summary


def _kind(code: bytes) -> str:
    if code == b"??":
        return "untracked"
    for letter, kind in (
        (b"R", "renamed"),
        (b"U", "modified"),
        (b"D", "deleted"),
        (b"A", "added"),
        (b"C", "added"),
    ):
        if letter in code:
            return kind
    return "modified"


def ignore_pattern(relative: bytes) -> bytes:
    """Return a line for an ignore file that matches exactly this path and all below it."""
    return b"/" + _IGNORE_SPECIAL.sub(rb"\\\1", relative) + b"\n"


def is_within(path: bytes, parents: tuple[bytes, ...]) -> bool:
    return any(path == parent or path.startswith(parent + b"/") for parent in parents)
