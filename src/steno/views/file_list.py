"""The files of a run: which it changed and which it read, one line each.

In: rows of the model and a choice. Out: lines that are safe to print. Never opens a file of the machine: what
is told is what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from steno.judge.types import File
from steno.model.contents import NotKept
from steno.text import units
from steno.text.safe import ELLIPSIS, columns, pad, visible
from steno.text.style import Paint
from steno.views import content_missing, not_kept

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


def chosen(files: Iterable[File], wanted: Wanted) -> Iterator[File]:
    for file in files:
        if _is_chosen(file, wanted.choice) and (
            not wanted.paths or any(_is_at(file.name, pattern) for pattern in wanted.paths)
        ):
            yield file


def lines(
    files: Iterable[File], paint: Paint, *, width: int | None, unkept: Iterable[NotKept] = ()
) -> Iterator[str]:
    rows = [_row(file) for file in files]
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
            return file.is_changed
        case Choice.READ:
            return file.is_read
        case Choice.ALL:
            return True


def _is_at(path: bytes, pattern: bytes) -> bool:
    return path == pattern or path.startswith(pattern.rstrip(b"/") + b"/") or fnmatchcase(path, pattern)


def _as_bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _row(file: File) -> _Row:
    path = visible(file.path)
    shown = file.after if file.after.exists else file.before
    if _kind(file) == "directory":
        path += "/"
    elif _kind(file) == "symlink" and shown.target is not None:
        path += f" -> {visible(shown.target)}"
    if file.changed_by_others:
        path += f" ({file.change} by somebody else)"
    if file.lacks_content:
        path += f" (content {content_missing.why(file)})"
    return _Row(file.letter, _size(file), file.git_class or "-", path)


def _kind(file: File) -> str | None:
    """What it is, or was."""
    return file.after.kind if file.after.exists else file.before.kind


def _size(file: File) -> str:
    grown = file.size_change
    if grown is None:
        return "?"
    if file.change in {"none", "metadata"}:
        return units.size(file.after.content_size or 0) if file.after.has_content else ""
    if not (file.before.has_content or file.after.has_content):
        return ""
    return f"{'-' if grown < 0 else '+'}{units.size(abs(grown))}"


def _shortened(path: str, room: int | None) -> str:
    """The end of a path tells more than its beginning."""
    if room is None or columns(path) <= room:
        return path
    while path and columns(path) > max(room - 1, 0):
        path = path[columns(path) - max(room - 1, 0) :] if path.isascii() else path[1:]
    return ELLIPSIS + path
