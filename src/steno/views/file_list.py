"""The files of a run: which it changed and which it read, one line each.

In: the kernel layer and a choice. Out: lines that are safe to print, or the files as data. Never opens a
file of the machine: what is told is what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from steno.model.file_rows import git_class, has_content, letter_of, size_change, size_of, was_read
from steno.model.kernel_layer import File, Seen, bytes_of
from steno.views import content_missing, measures, not_kept
from steno.views.not_kept import NotKept
from steno.views.paint import Paint
from steno.views.plain import ELLIPSIS, columns, pad, visible

SCHEMA = "steno.file-list.v1"
_GAP = "  "
_ROLES = {"A": "good", "M": "warning", "D": "bad", "m": "warning", "?": "bad"}
_NOT_KEPT = "?"
_LEAST_ROOM = 16


class Choice(StrEnum):
    CHANGED = "changed"
    READ = "read"
    ALL = "all"


class Wanted(NamedTuple):
    """Which files: the kind of them, and absolute paths (or patterns) that they are, or lie below."""

    choice: Choice = Choice.CHANGED
    paths: tuple[bytes, ...] = ()


class _Row(NamedTuple):
    letter: str
    size: str
    git: str
    path: str


def chosen(files: Iterable[Seen], wanted: Wanted) -> Iterator[Seen]:
    for seen in files:
        if _is_chosen(seen.file, wanted.choice) and (
            not wanted.paths or any(_is_at(seen.file.name, pattern) for pattern in wanted.paths)
        ):
            yield seen


def lines(
    files: Iterable[Seen], paint: Paint, *, width: int | None, unkept: Iterable[NotKept] = ()
) -> Iterator[str]:
    rows = [_row(seen.file) for seen in files]
    sizes = max((columns(row.size) for row in rows), default=0)
    classes = max((columns(row.git) for row in rows), default=0)
    for row in rows:
        middle = f"{' ' * (sizes - columns(row.size))}{row.size}{_GAP}{pad(row.git, classes)}{_GAP}"
        room = None if width is None else width - 1 - len(_GAP) - columns(middle)
        if room is not None and room < _LEAST_ROOM:  # a narrow terminal: the name is what matters
            middle, room = "", (width or 0) - 1 - len(_GAP)
        letter = paint(_ROLES.get(row.letter, "faint"), row.letter)
        yield f"{letter}{_GAP}{middle}{_shortened(row.path, room)}"
    for one in unkept:
        room = None if width is None else width - 1 - len(_GAP)
        yield f"{paint(_ROLES[_NOT_KEPT], _NOT_KEPT)}{_GAP}{_shortened(not_kept.row(one), room)}"


def chosen_not_kept(found: Iterable[NotKept], wanted: Wanted) -> list[NotKept]:
    """Those that a choice would have, if their states were kept; of what is only read nothing is known."""
    return [
        one
        for one in found
        if wanted.choice != Choice.READ
        and (not wanted.paths or any(_is_at(_as_bytes(one.path), pattern) for pattern in wanted.paths))
    ]


def _is_chosen(file: File, choice: Choice) -> bool:
    match choice:
        case Choice.CHANGED:
            return file.change != "none"
        case Choice.READ:
            return was_read(file)
        case Choice.ALL:
            return True


def _is_at(path: bytes, pattern: bytes) -> bool:
    return path == pattern or path.startswith(pattern.rstrip(b"/") + b"/") or fnmatchcase(path, pattern)


def _as_bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _row(file: File) -> _Row:
    kind = file.after.type or file.before.type
    path = _text(file.name)
    shown = file.after if file.after.exists else file.before
    if kind == "directory":
        path += "/"
    elif kind == "symlink" and shown.target is not None:
        path += f" -> {_text(bytes_of(shown.target, shown.target_b64))}"
    if file.by_others:
        path += f" ({file.change} by somebody else)"
    if content_missing.lacks_content(file):
        path += f" (content {content_missing.why(file)})"
    return _Row(letter_of(file), _size(file), git_class(file) or "-", path)


def _text(name: bytes) -> str:
    return visible(name.decode("utf-8", "backslashreplace"))


def _size(file: File) -> str:
    grown = size_change(file)
    if grown is None:
        return "?"
    if file.change in {"none", "metadata"}:
        return measures.size(size_of(file.after) or 0) if has_content(file.after) else ""
    if not (has_content(file.before) or has_content(file.after)):
        return ""
    return f"{'-' if grown < 0 else '+'}{measures.size(abs(grown))}"


def _shortened(path: str, room: int | None) -> str:
    """The end of a path tells more than its beginning."""
    if room is None or columns(path) <= room:
        return path
    while path and columns(path) > max(room - 1, 0):
        path = path[columns(path) - max(room - 1, 0) :] if path.isascii() else path[1:]
    return ELLIPSIS + path
