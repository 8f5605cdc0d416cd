"""The files of a run: which it changed and which it read, one line each.

In: the kernel layer and a choice. Out: lines that are safe to print, or the files as data. Never opens a
file of the machine: what is told is what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from steno.views import content_missing, measures, not_kept
from steno.views.kernel_layer import File, Seen, State, bytes_of, whole
from steno.views.not_kept import NotKept
from steno.views.paint import Paint
from steno.views.plain import ELLIPSIS, columns, pad, visible

SCHEMA = "steno.file-list.v1"
_GAP = "  "
_LETTERS = {"created": "A", "modified": "M", "deleted": "D", "metadata": "m"}
_ROLES = {"A": "good", "M": "warning", "D": "bad", "m": "warning", "?": "bad"}
_BY_OTHERS = "o"
GONE_AGAIN = "t"
_NOT_KEPT = "?"
_READING = {"read", "execute"}
_LEAST_ROOM = 16
_SIZES_OF = {"file", "symlink"}


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


def letter_of(file: File) -> str:
    if file.by_others:
        return _BY_OTHERS
    if file.change == "modified" and file.before.type == file.after.type == "directory":
        return "m"  # what it lists has changed, which is told of the files in it
    if file.change != "none":
        return _LETTERS.get(file.change, "?")
    if not file.before.exists and "write" in file.operations:
        return GONE_AGAIN
    return "r" if _READING & set(file.operations) else "-"


def _is_chosen(file: File, choice: Choice) -> bool:
    match choice:
        case Choice.CHANGED:
            return file.change != "none"
        case Choice.READ:
            return bool(_READING & set(file.operations))
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
    return _Row(letter_of(file), _size(file), _git_class(file), path)


def _text(name: bytes) -> str:
    return visible(name.decode("utf-8", "backslashreplace"))


def _size(file: File) -> str:
    before, after = _bytes(file.before), _bytes(file.after)
    if before is None or after is None:
        return "?"
    if file.change in {"none", "metadata"}:
        return measures.size(after) if file.after.type in _SIZES_OF else ""
    if not {file.before.type, file.after.type} & _SIZES_OF:
        return ""
    grown = after - before
    return f"{'-' if grown < 0 else '+'}{measures.size(abs(grown))}"


def _bytes(state: State) -> int | None:
    """None when it is not known; what is not there, or is no content, has none."""
    if state.exists is None:
        return None
    if not state.exists or state.type not in _SIZES_OF:
        return 0
    return None if state.size is None else max(whole(state.size), 0)


def _git_class(file: File) -> str:
    git = file.git
    if git is None:
        return "-"
    if git.ignored:
        return "ignored"
    if not git.tracked:
        return "untracked"
    return "dirty" if git.dirty else "clean"


def _shortened(path: str, room: int | None) -> str:
    """The end of a path tells more than its beginning."""
    if room is None or columns(path) <= room:
        return path
    while path and columns(path) > max(room - 1, 0):
        path = path[columns(path) - max(room - 1, 0) :] if path.isascii() else path[1:]
    return ELLIPSIS + path
