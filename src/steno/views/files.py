"""The files that a run touched: the lines of `steno files`, and what of them is not kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from steno.judge.types import File
from steno.model.contents import LEFT_OUT, NotKept
from steno.model.documents import file_json
from steno.model.run import Run
from steno.text import units
from steno.text.safe import ELLIPSIS, columns, listed, pad, visible
from steno.text.style import Paint
from steno.text.table import GAP
from steno.text.units import counted
from steno.views import file_diff

_MISSING_SHOWN = 3
_WHY = {
    "too_large": "larger than --max-blob",
    "unreadable": "that could not be read",
    "changing": "that changed while it was read",
    "ignored": "ignored by configuration",
}


class ContentMissing(NamedTuple):
    path: str
    why: str

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def content_missing(files: Iterable[File]) -> list[ContentMissing]:
    return [ContentMissing(file.path, why(file)) for file in files if file.lacks_content]


def why(file: File) -> str:
    return _WHY.get(file.after.no_content_reason or "", "not kept")


def missing_lines(found: Sequence[ContentMissing]) -> Iterator[str]:
    """Nothing where there are none."""
    if found:
        reasons = ", ".join(sorted({one.why for one in found}))
        names = listed((one.path for one in found), _MISSING_SHOWN)
        files = counted(len(found), "written file")
        yield f"{files} without the content at the end ({reasons}): {names}"


_NAMES_SHOWN = 3


def not_kept_lines(found: list[NotKept], thing: str = "more path") -> Iterator[str]:
    """How many they are and why, and some of their names; nothing where there are none."""
    if not found:
        return
    whose = "its state is" if len(found) == 1 else "their states are"
    # What is ignored is not hidden behind all that git writes.
    names = (one.path for one in sorted(found, key=lambda one: (one.why != LEFT_OUT, one.path)))
    yield (
        f"{counted(len(found), thing)} may have changed: {whose} not kept "
        f"({', '.join(_reasons(found))}): {listed(names, _NAMES_SHOWN)}"
    )


def not_kept_row(one: NotKept) -> str:
    return visible(f"{one.path} ({' and '.join(one.did)}, {one.why})")


def _reasons(found: list[NotKept]) -> Iterator[str]:
    counts = Counter(one.why for one in found)
    if len(counts) == 1:
        yield from counts
    else:
        yield from (f"{count} {why}" for why, count in sorted(counts.items()))


SCHEMA = "steno.file-list.v1"

_ROLES = {"A": "good", "M": "warning", "D": "bad", "m": "warning", "?": "bad"}
_NOT_KEPT = "?"
_LEAST_ROOM = 16


class Choice(StrEnum):
    CHANGED = "changed"
    READ = "read"
    ALL = "all"


class FileFilter(NamedTuple):
    """Which files: the kind of them, and absolute paths (or patterns) that they are, or lie below."""

    choice: Choice = Choice.CHANGED
    paths: tuple[bytes, ...] = ()


class _Row(NamedTuple):
    letter: str
    size: str
    git: str
    path: str


def chosen(files: Iterable[File], wanted: FileFilter) -> Iterator[File]:
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
        middle = f"{' ' * (sizes - columns(row.size))}{row.size}{GAP}{pad(row.git, classes)}{GAP}"
        room = None if width is None else width - 1 - len(GAP) - columns(middle)
        if room is not None and room < _LEAST_ROOM:  # a narrow terminal: the name is what matters
            middle, room = "", (width or 0) - 1 - len(GAP)
        letter = paint(_ROLES.get(row.letter, "faint"), row.letter)
        yield f"{letter}{GAP}{middle}{_shortened(row.path, room)}"
    for one in unkept:
        room = None if width is None else width - 1 - len(GAP)
        yield f"{paint(_ROLES[_NOT_KEPT], _NOT_KEPT)}{GAP}{_shortened(not_kept_row(one), room)}"


def chosen_not_kept(found: Iterable[NotKept], wanted: FileFilter) -> list[NotKept]:
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
        path += f" (content {why(file)})"
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


def none_found(choice: Choice, unkept: list[NotKept], *, by_name: bool) -> str:
    none = "there is no such file" if by_name or choice != Choice.CHANGED else "the run changed no file"
    return f"{none} among those whose states are kept" if unkept else none


def to_json(run: Run, found: list[File], unkept: list[NotKept], *, diff: bool) -> dict[str, object]:
    files = list(map(file_json, found))
    if diff:
        with run.contents() as contents:
            texts = [b"".join(file_diff.diff(file, contents)) for file in found]
        decoded = [text.decode("utf-8", "backslashreplace") for text in texts]
        files = [{**told, "diff": text} for told, text in zip(files, decoded, strict=True)]
    return {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "files": files,
        "not_kept": [one.to_json() for one in unkept],
    }
