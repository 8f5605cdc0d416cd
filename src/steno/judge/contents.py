"""Looks at paths, with the contents that were kept of them: which content a path had before and after a run.

A file has one number under all its names, given when the run was about to change it for the first time; what
was kept then is what each of its names had, as long as nobody changed it. What was only read has one content,
the one at the end, if the file is still as it was first seen. Equal contents have one key. A table without
numbers and keys tells of no content.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from steno.evidence.syscalls import RowBatch

KEPT, NOT_KEPT = "kept", "not_kept"
_UNREADABLE = "unreadable"
_IDENTITY = 5  # dev, ino, size, mtime_ns, ctime_ns: the same file with the same content
_SAME_CONTENT = 4  # without ctime_ns
_FIGURES = slice(2, 4)  # size, mtime_ns
_NUMBERS = ("dev", "ino", "size", "mtime_ns", "ctime_ns", "mode", "uid", "gid", "nlink", "file")
_TELLING = ("arg", "notes", "result", "ino", "size", "mtime_ns", "ctime_ns", "file")
COLUMNS = (*_NUMBERS, "target", "content", "blob")


Identity = tuple[int, int, int, int, int]


class Look(NamedTuple):
    """What a row found. `content` is a word of the table; `blob` is a key only where it is `kept`."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int
    gid: int
    nlink: int
    file: int = 0
    target: bytes | None = None
    content: str = NOT_KEPT
    blob: str | None = None

    @property
    def identity(self) -> Identity:
        return self.dev, self.ino, self.size, self.mtime_ns, self.ctime_ns

    @property
    def figures(self) -> tuple[int, int]:
        return self.size, self.mtime_ns

    def has_content_of(self, other: Look) -> Look:
        return self._replace(file=other.file, content=other.content, blob=other.blob)


def looks(batch: RowBatch, rows: Sequence[int]) -> dict[int, Look]:
    """What these rows found, each of which found something."""
    if not rows:
        return {}
    numbers = [[number or 0 for number in batch.optional(name, rows)] for name in _NUMBERS]
    words: list[Any] = batch.texts("content", rows)
    contents = [word or NOT_KEPT for word in words]
    columns = zip(*numbers, batch.texts("target", rows), contents, batch.blobs(rows), strict=True)
    return dict(zip(rows, map(Look._make, columns), strict=True))


class Contents:
    """Which content a look is of: learned from every row that tells of one."""

    def __init__(self) -> None:
        self._first: dict[int, Look] = {}  # by number of the file: the look when it was kept
        self._before: dict[int, Look] = {}  # likewise: when the run changed it for the first time
        self._kept: dict[Identity, Look] = {}  # by what a file is, whatever its name

    def keep(self, told: Look) -> None:
        """A look that tells the number of its file."""
        kept = self._first.setdefault(told.file, told)
        if kept.content != KEPT and told.content == KEPT:  # it could not be read at first
            self._first[told.file] = kept.has_content_of(told)

    def change(self, told: Look) -> None:
        self._before.setdefault(told.file, told)

    def is_changed(self, file: int) -> bool:
        return file in self._before

    def as_it_was(self, told: Look) -> Look:
        """The content that is kept is that of the file as it was then. Somebody else may have changed it
        after it was kept, and before the run did."""
        kept = self._first.get(told.file)
        if kept is None or told.content != KEPT or told.figures == kept.figures:
            return told
        return told._replace(file=0, content=NOT_KEPT, blob=None)

    def before(self, file: int) -> Look:
        """How the run found a file that it changed, under whatever name."""
        return self.as_it_was(self._before[file].has_content_of(self._first[file]))

    def remember(self, kept: Look) -> None:
        if kept.content == KEPT:
            self._kept[kept.identity] = kept

    def of_another_name(self, look: Look) -> Look:
        """A file that was renamed or linked may have been kept under another name."""
        kept = None if look.content != NOT_KEPT else self._kept.get(look.identity)
        return look if kept is None else look.has_content_of(kept)


def learned(first: Look, later: Look) -> Look:
    """A later look at what is still the same file tells where its content is, or why it is not kept."""
    # A new mode may let its owner read it, and moves nothing but the time of change.
    readable_now = first.content == _UNREADABLE and later.content == KEPT
    if first.content != NOT_KEPT and not readable_now:
        return first
    parts = _SAME_CONTENT if readable_now else _IDENTITY
    return first.has_content_of(later) if first[:parts] == later[:parts] else first


def rows_with_content(batch: RowBatch) -> list[int]:
    """The rows that tell the content of a file, or why it was not kept; of equal ones the first."""
    rows = batch.rows_naming("content", lambda word: word != NOT_KEPT) if batch.tells_contents else []
    if not rows:
        return rows
    texts = (batch.texts(name, rows) for name in ("resolved", "content"))
    numbers = (batch.optional(name, rows) for name in _TELLING)
    keys = list(zip(*texts, batch.ops(rows), *numbers, strict=True))
    return sorted(dict(zip(reversed(keys), reversed(rows), strict=True)).values())


RACED, UNKNOWN = "raced", "unknown"  # RACED: read by the run, and touched by somebody after that
_CHANGING = "changing"
_USED = frozenset({"read", "write", "execute", "delete"})
_CHANGED = frozenset({"write", "delete"})
_CHANGING_OPERATIONS = _CHANGED | {"metadata"}
_USED_OR_CHANGED = _USED | _CHANGING_OPERATIONS
_SHOWN = 6  # dev, ino, size, mtime_ns, ctime_ns, mode
_UNCHANGED = 4  # without the last two


class Content(NamedTuple):
    """The key of a content, or why there is none; both for one that changed while it was copied."""

    blob: str | None = None
    why: str | None = None


class End(NamedTuple):
    """How the run left a path. `look` is None where nothing was there, or (`known` false) nobody knows."""

    look: Look | None
    content: Content
    known: bool = True


class Chosen(NamedTuple):
    before: Content
    after: Content
    same_content: bool | None = None  # None: not known
    same_ctime: bool | None = None


NOTHING = Content()


def contents(first: Look | None, end: End, done: Collection[str], ends: Mapping[Identity, str]) -> Chosen:
    """`ends`: the contents that files had at the end, whatever their names."""
    last, was_file = end.look, _is_file(first)
    is_written = not _CHANGED.isdisjoint(done)
    is_as_found = agree = False
    if first is not None and last is not None:
        is_as_found = first[:_SHOWN] == last[:_SHOWN]
        # A change of mode or owner moves the change time.
        only_set = was_file and "metadata" in done and first[:_UNCHANGED] == last[:_UNCHANGED]
        agree = not is_written and (is_as_found or only_set)
    before = _before(first, end, done, agree=agree) if first is not None and was_file else NOTHING
    same_ctime = _same_ctime(first, last) if "metadata" in done else None
    if not _is_file(last):
        return Chosen(before, NOTHING, same_ctime=same_ctime)
    if agree:
        return Chosen(before, before, same_ctime=same_ctime)
    if was_file and _USED_OR_CHANGED.isdisjoint(done):
        return Chosen(before, NOTHING, same_ctime=same_ctime)
    untouched = is_written and is_as_found
    same_content = _same_content(first, before, end, ends, untouched=untouched)
    return Chosen(before, end.content, same_content, same_ctime)


def _before(first: Look, end: End, done: Collection[str], *, agree: bool) -> Content:
    """`agree`: the content is still the one that was first seen."""
    if first.content == KEPT:
        return _whole(Content(first.blob))
    if first.content != NOT_KEPT:
        return Content(why=first.content)
    if _USED.isdisjoint(done):
        return NOTHING
    if not agree:
        return Content(why=RACED if end.known and _CHANGING_OPERATIONS.isdisjoint(done) else UNKNOWN)
    if end.content.why is not None:
        return Content(why=RACED if end.content.why == _CHANGING else end.content.why)
    return _whole(end.content)


def _whole(content: Content) -> Content:
    return content if content.blob is not None else Content(why=UNKNOWN)


def _same_content(
    first: Look | None, before: Content, end: End, ends: Mapping[Identity, str], *, untouched: bool
) -> bool | None:
    then = before.blob
    if then is None and first is not None and end.look is not None and not untouched:
        # Two files of one size and time may have changed their names: then the content tells.
        then = ends.get(first.identity) if first.figures == end.look.figures else None
    if then is None or end.content.blob is None or end.content.why is not None:
        return untouched or None
    return then == end.content.blob


def _same_ctime(first: Look | None, last: Look | None) -> bool | None:
    """Asked where the run may have set what is in no state, such as extended attributes."""
    if first is None or last is None or (first.dev, first.ino) != (last.dev, last.ino):
        return None
    return first.ctime_ns == last.ctime_ns


def _is_file(look: Look | None) -> bool:
    return look is not None and stat.S_ISREG(look.mode)
